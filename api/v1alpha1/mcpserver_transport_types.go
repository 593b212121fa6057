// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Remote is a server that runs elsewhere.
//
// +kubebuilder:validation:XValidation:rule="!has(self.caBundleFrom) || self.url.startsWith('https://')",message="caBundleFrom has a meaning for https only: change the url, or leave it out"
type Remote struct {
	// url is the server's MCP endpoint, http or https. Credentials do not belong
	// here but in headersFrom. Example: https://mcp.example.com/mcp.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://') && isURL(self) && url(self).getHostname().size() > 0",message="an http or https URL with a host, as in https://mcp.example.com/mcp"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[a-z]+://[^/?#]*@')",message="a user name or password in the URL would be readable by everyone who can read this object: put credentials into a Secret and name it in headersFrom"
	// +kubebuilder:validation:XValidation:rule="!self.contains('#')",message="the URL of an endpoint has no fragment (#...)"
	URL string `json:"url,omitempty"`
	// headersFrom are HTTP headers that the dispatcher sends to the server, from
	// keys of Secrets in this namespace. Clients never see them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.name.lowerAscii() == a.name.lowerAscii()))",message="HTTP does not tell headers apart by upper and lower case: name each once"
	HeadersFrom []HeaderFrom `json:"headersFrom,omitempty"`
	// caBundleFrom is a key of a ConfigMap in this namespace that holds the
	// certificate authorities (PEM) which sign the server's certificate. They
	// replace those of the system. Default: those of the system.
	// +optional
	CABundleFrom *KeyRef `json:"caBundleFrom,omitempty"`
}

// HeaderFrom is one header whose value is in a Secret.
type HeaderFrom struct {
	// name of the header. Those that HTTP and MCP need for themselves can't be
	// set. Example: Authorization.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9!#$%&*+.^_|~-]+$')",message="the name of an HTTP header, such as Authorization"
	// +kubebuilder:validation:XValidation:rule="!self.lowerAscii().matches('^(mcp-.*|host|accept|accept-encoding|connection|content-.*|transfer-encoding|te|trailer|upgrade|keep-alive|proxy-.*|expect|last-event-id|origin|cookie)$')",message="this header is set by the dispatcher itself, as HTTP and MCP ask"
	Name string `json:"name,omitempty"`
	// secretKeyRef is where the whole value of the header is, as in "Bearer ..."
	// for Authorization.
	// +required
	SecretKeyRef KeyRef `json:"secretKeyRef,omitzero"`
}

// Transport is how the dispatcher speaks to the server.
type Transport struct {
	// type is stdio for a server that speaks on its standard input and output,
	// streamable-http for one that listens, sse for one that listens and is older
	// (HTTP with SSE of revision 2024-11-05), websocket for one that listens and
	// speaks subprotocol mcp over WebSocket, which is in no revision of MCP. A
	// stdio server is the safer one: it needs no port, so nothing can go round the
	// dispatcher. Default: stdio for a container, streamable-http for a remote
	// server.
	// +optional
	Type TransportType `json:"type,omitempty"`
	// port is where a server that listens does so in the pod. Default: 8080.
	// 7310 to 7313 are the dispatcher's.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="self < 7310 || self > 7313",message="ports 7310 to 7313 are the dispatcher's, which shares the pod's network with the server: let the server listen on another"
	Port *int32 `json:"port,omitempty"`
	// path is the MCP endpoint of a server that listens; with sse that of its
	// stream. Default: /mcp; with sse /sse.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^?# ]*$')",message="a path that begins with /, without query, fragment or spaces, as in /mcp"
	Path string `json:"path,omitempty"`
	// isolation says who shares a process of a stdio server. Session: each session
	// of a client has its own, and a call without a session a fresh one. Shared:
	// all share one, which is cheaper, and lets one caller see what another left
	// behind. Default: Session.
	// +optional
	Isolation Isolation `json:"isolation,omitempty"`
}

// TransportType is a transport of MCP.
// +kubebuilder:validation:Enum=stdio;streamable-http;sse;websocket
type TransportType string

// Transports, as MCP names them.
const (
	// TransportStdio speaks on standard input and output.
	TransportStdio TransportType = "stdio"
	// TransportStreamableHTTP listens on a port.
	TransportStreamableHTTP TransportType = "streamable-http"
	// TransportSSE listens on a port, as revision 2024-11-05 has it.
	TransportSSE TransportType = "sse"
	// TransportWebSocket listens on a port for WebSockets.
	TransportWebSocket TransportType = "websocket"
)

// Isolation says who shares a process of a stdio server.
// +kubebuilder:validation:Enum=Session;Shared
type Isolation string

// Ways to share a process.
const (
	// IsolationSession gives each session of a client a process of its own.
	IsolationSession Isolation = "Session"
	// IsolationShared gives all callers one process.
	IsolationShared Isolation = "Shared"
)
