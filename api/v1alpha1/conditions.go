// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types. All of them have positive polarity: True is the state to be in. All types of a kind are there from the
// first write of its status, each with the generation that it speaks of: what is not known yet is Unknown or False, with
// ReasonPending, ReasonProgressing or ReasonNotDiscovered. Ready is on all three kinds and is derived from the others by one
// function.
const (
	// ConditionReady (MCPServer, MCPTool, RuleSet) is True when the object does what it is for. Otherwise its reason is that
	// of the condition which is in the way.
	ConditionReady = "Ready"
	// ConditionAccepted (MCPServer, RuleSet) is True when the spec can be carried out as it stands.
	ConditionAccepted = "Accepted"
	// ConditionAvailable (MCPServer) is True when as many pods as asked for serve, and no rollout of the spec is stuck.
	ConditionAvailable = "Available"
	// ConditionDiscovered (MCPServer) is True when the whole catalogue of the current revision has been read.
	ConditionDiscovered = "Discovered"
	// ConditionHealthy (MCPServer) is True when the server answers its probes.
	ConditionHealthy = "Healthy"
	// ConditionEnforced is True on an MCPServer when every replica in the endpoints enforces the newest registry document,
	// on a RuleSet when every selected server's dispatchers enforce this generation of it. A pod that drains is not in the endpoints: it
	// takes calls of its own sessions, by the document that it has, for five sixths of its terminationGracePeriodSeconds at most.
	ConditionEnforced = "Enforced"
	// ConditionProtected (MCPServer) says whether the dispatcher can be gone round: True (Socket), True (Guarded), False (Unguarded).
	ConditionProtected = "Protected"
	// ConditionUpgraded (MCPServer) is True when the pods are those of the release of Toolgate that runs, and available since.
	// Ready does not depend on it.
	ConditionUpgraded = "Upgraded"
	// ConditionRegistered (MCPTool) is True when the definition is known and admitted for the current revision.
	ConditionRegistered = "Registered"
	// ConditionCallable (MCPTool) is True when a call of the tool can pass; False says what blocks it.
	ConditionCallable = "Callable"
)

// Reasons that conditions of several kinds share.
const (
	// ReasonPending: nothing has been found out yet.
	ReasonPending = "Pending"
	// ReasonReady: everything that Ready is derived from is True.
	ReasonReady = "Ready"
	// ReasonAccepted: the spec can be carried out as it stands.
	ReasonAccepted = "Accepted"
	// ReasonProgressing: on its way, and no time limit has passed.
	ReasonProgressing = "Progressing"
	// ReasonDisabled: spec.state is Disabled, of this object or of the server it belongs to.
	ReasonDisabled = "Disabled"
	// ReasonEnforced: every dispatcher that counts has the newest document in force.
	ReasonEnforced = "Enforced"
	// ReasonLagging: some dispatchers still enforce an older document; the message names at most five.
	ReasonLagging = "Lagging"
)

// Reasons of MCPServer, Accepted=False.
const (
	// ReasonInvalidSpec: a field has a value that cannot be carried out; the message names the field and the way out.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonNameConflict: a child's name is taken by an object that Toolgate does not own, and that it therefore leaves alone.
	ReasonNameConflict = "NameConflict"
	// ReasonReferenceNotFound: a ConfigMap, Secret or ServiceAccount that the spec names does not exist.
	ReasonReferenceNotFound = "ReferenceNotFound"
	// ReasonRuleSetNotFound: a RuleSet named in spec.ruleSets does not exist; until it does, every request is denied.
	ReasonRuleSetNotFound = "RuleSetNotFound"
	// ReasonDomainModelInvalid: the text of spec.domainModel is malformed; the message says where, and the last good one stays in use.
	ReasonDomainModelInvalid = "DomainModelInvalid"
	// ReasonApplyFailed: the API server refused a child (quota, Pod Security, admission policy), or could not write it for ten seconds
	// (a webhook that fails); the message is its answer.
	ReasonApplyFailed = "ApplyFailed"
)

// Reasons of events of MCPServer that are no condition's.
const (
	// ReasonReferencesChanged: pods are replaced because the content of a ConfigMap or Secret changed; spec.restartOn says whether.
	ReasonReferencesChanged = "ReferencesChanged"
)

// Reasons of MCPServer, Available, beside the reasons of a server that fails.
const (
	// ReasonAvailable: as many pods as asked for serve.
	ReasonAvailable = "Available"
	// ReasonScaledToZero: spec.replicas is 0, or with spec.scaling External the Deployment has been scaled to 0.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonImagePullFailed: the kubelet cannot pull an image; the message names it.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonUnschedulable: no node takes the pods.
	ReasonUnschedulable = "Unschedulable"
	// ReasonPodsRefused: the pods cannot be created (quota, Pod Security, admission policy).
	ReasonPodsRefused = "PodsRefused"
	// ReasonContainerFailed: a container cannot be made or started (a missing key, a bad mount), before the server runs at all,
	// or the dispatcher's own ends.
	ReasonContainerFailed = "ContainerFailed"
	// ReasonPodFailed: a pod has failed for good (Evicted, NodeShutdown, OutOfcpu …), and none that serves has taken its place yet. The
	// message is the kubelet's.
	ReasonPodFailed = "PodFailed"
	// ReasonPodNotSetUp (also Discovered): a pod has waited for its volumes or its network for more than two minutes. The message names the
	// objects that its volumes need; which of them is missing, if it is one of them, the kubelet says in an event of the pod.
	ReasonPodNotSetUp = "PodNotSetUp"
	// ReasonProgressDeadlineExceeded: the rollout does not get on; pods of the last good revision go on serving.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonDeploymentPaused (Available, Discovered, Upgraded): somebody has paused the server's Deployment, so that its pods stay as
	// they were before the last change. The way out is kubectl rollout resume deployment/NAME.
	ReasonDeploymentPaused = "DeploymentPaused"
)

// Reasons of MCPServer, Discovered, beside the reasons of a server that fails.
const (
	// ReasonDiscovered: the whole catalogue of the current revision has been read.
	ReasonDiscovered = "Discovered"
	// ReasonToolsWithheld (Discovered=True): the catalogue has been read, and some of its tools are withheld; the message
	// names them and their MCPTools say why.
	ReasonToolsWithheld = "ToolsWithheld"
	// ReasonCatalogueEmpty (Discovered=True): the server answers and lists no tool, no resource and no prompt.
	ReasonCatalogueEmpty = "CatalogueEmpty"
)

// Reasons of a server that fails (Available, Discovered and Healthy). They are equal to the values of registry.FailureReason,
// with which a dispatcher says what it saw.
const (
	// ReasonServerStartFailed: the command cannot be started, or nothing listens on the port, 30 s after the pod's start at first.
	ReasonServerStartFailed = "ServerStartFailed"
	// ReasonServerExited: the server's process ended; the message holds the last lines that it printed.
	ReasonServerExited = "ServerExited"
	// ReasonNotMCP: what the server answers is not MCP.
	ReasonNotMCP = "NotMCP"
	// ReasonServerTimeout: the server does not answer in time.
	ReasonServerTimeout = "ServerTimeout"
	// ReasonServerUnreachable: the remote server cannot be reached.
	ReasonServerUnreachable = "ServerUnreachable"
	// ReasonServerUnauthorized: the remote server refuses the credentials of spec.remote.headersFrom.
	ReasonServerUnauthorized = "ServerUnauthorized"
	// ReasonCatalogueInvalid: a list of the server cannot be read whole: a cursor that loops, a broken page.
	ReasonCatalogueInvalid = "CatalogueInvalid"
	// ReasonUnsupportedProtocolVersion: the server speaks no revision of MCP that the dispatcher knows.
	ReasonUnsupportedProtocolVersion = "UnsupportedProtocolVersion"
)

// Reasons of MCPServer, Healthy, beside the reasons of a server that fails.
const (
	// ReasonHealthy: the server answers its probes.
	ReasonHealthy = "Healthy"
	// ReasonUnhealthy: as many probes in a row as spec.health.failureThreshold have failed.
	ReasonUnhealthy = "Unhealthy"
)

// Reasons of MCPServer, Enforced=False, beside Progressing and Lagging.
const (
	// ReasonRegistryRefused: a dispatcher refuses the newest document and keeps the last good one; the message says why.
	ReasonRegistryRefused = "RegistryRefused"
	// ReasonRegistryTooLarge: the document does not fit into its ConfigMaps, or into one piece for a dispatcher that reads no
	// shards; one that denies every call stands in for it.
	ReasonRegistryTooLarge = "RegistryTooLarge"
	// ReasonDispatcherUnreachable: the manager cannot read the state of a pod in the endpoints.
	ReasonDispatcherUnreachable = "DispatcherUnreachable"
	// ReasonStateNotAuthentic: somebody else than its dispatcher answers at a pod's admin port, such as the server itself; nothing
	// of the answer is believed.
	ReasonStateNotAuthentic = "StateNotAuthentic"
)

// Reasons of MCPServer, Upgraded, beside Pending and Progressing.
const (
	// ReasonUpToDate (True): the pods are those of the release that runs.
	ReasonUpToDate = "UpToDate"
	// ReasonUpgradeWaiting (False): the pods are of an earlier release until their turn comes.
	ReasonUpgradeWaiting = "UpgradeWaiting"
	// ReasonUpgradeFailed (False): the server is not available since it was upgraded; the message says why. No other server is
	// upgraded until it is.
	ReasonUpgradeFailed = "UpgradeFailed"
)

// Reasons of MCPServer, Protected.
const (
	// ReasonSocket (True): the server speaks on pipes alone and has no network port to go round the dispatcher with.
	ReasonSocket = "Socket"
	// ReasonGuarded (True): the server listens, and its NetworkPolicy keeps everything but the dispatcher away; or the dispatcher sends
	// a remote server headers from a Secret over https (that the server refuses others can't be seen).
	ReasonGuarded = "Guarded"
	// ReasonUnguarded (False): a remote server gets no headers from a Secret over https, so that whoever reaches it goes round the dispatcher.
	ReasonUnguarded = "Unguarded"
)

// Reasons of MCPTool, Registered. All but Registered are False, and the tool is withheld.
const (
	// ReasonRegistered: the definition is known and admitted for the current revision.
	ReasonRegistered = "Registered"
	// ReasonNoInputSchema: the server lists the tool without an input schema, so no call could be checked.
	ReasonNoInputSchema = "NoInputSchema"
	// ReasonInvalidSchema: the input or output schema does not compile.
	ReasonInvalidSchema = "InvalidSchema"
	// ReasonDuplicateName: the server lists the name twice, or another that differs by case alone, or two MCPTools claim it.
	ReasonDuplicateName = "DuplicateName"
	// ReasonNameNotDeclared: the name is outside [A-Za-z0-9_.-]{1,128}; a person must declare it.
	ReasonNameNotDeclared = "NameNotDeclared"
	// ReasonDefinitionChanged: the definition differs from the admitted one; the message has the digest that would admit it.
	ReasonDefinitionChanged = "DefinitionChanged"
	// ReasonContractBroken: the definition breaks spec.contract; the message says where.
	ReasonContractBroken = "ContractBroken"
	// ReasonNotPinned: spec.discovery.pinning is Manual and spec.pin is not set.
	ReasonNotPinned = "NotPinned"
	// ReasonGone: the server, or the tool on it, is no longer there; what people wrote in the spec is kept.
	ReasonGone = "Gone"
	// ReasonNotListed: declared by a person, and the server has not listed it so far; or another revision lists it than the one by
	// which tools are told of now; or sessions alone list it, and nothing admits it: the message has the digest that would.
	ReasonNotListed = "NotListed"
	// ReasonNotDiscovered: the server's catalogue has not been read yet.
	ReasonNotDiscovered = "NotDiscovered"
)

// Reasons of MCPTool, Callable. Where the tool is not registered, the reason is that of Registered.
const (
	// ReasonCallable (True): a call with valid arguments passes, unless a rule over them says no.
	ReasonCallable = "Callable"
	// ReasonDeprecated (True): as Callable, and spec.contract says that the tool should not be used any more.
	ReasonDeprecated = "Deprecated"
	// ReasonUntrusted (False): the tool counts as destructive and its server is Untrusted.
	ReasonUntrusted = "Untrusted"
	// ReasonNeedsConfirmation (False): the tool counts as destructive, its server is Untrusted, and each call has to be
	// confirmed by a person first.
	ReasonNeedsConfirmation = "NeedsConfirmation"
	// ReasonTrustExpired (False): the tool counts as destructive and spec.trust.expiresAt of its server has passed.
	ReasonTrustExpired = "TrustExpired"
	// ReasonTrustStale (False): the tool counts as destructive, and no pod that serves has answered the manager for longer than
	// spec.trust.maxStalenessSeconds of its server, so that its dispatchers trust no longer.
	ReasonTrustStale = "TrustStale"
	// ReasonRuleSetInvalid (False): a RuleSet that governs the tool does not compile, or the tool or its server names one that does
	// not exist; until that is mended, what it governs is denied.
	ReasonRuleSetInvalid = "RuleSetInvalid"
	// ReasonNotExposed (False): spec.expose.tools of the server is Deny.
	ReasonNotExposed = "NotExposed"
	// ReasonServerNotReady (False): no pod of the server serves.
	ReasonServerNotReady = "ServerNotReady"
)

// Reasons of RuleSet, Accepted=False.
const (
	// ReasonInvalidRules: a rule does not compile, or could cost more than the bound on every call; the message and status.ruleErrors have rule, field, line and column.
	ReasonInvalidRules = "InvalidRules"
	// ReasonInvalidSelector: spec.servers.selector cannot be read.
	ReasonInvalidSelector = "InvalidSelector"
	// ReasonUnsupported: spec.format or spec.type is not built; admission refuses it, so only an object that was stored otherwise
	// says this. What the set governs is denied.
	ReasonUnsupported = "Unsupported"
)

// Reasons of RuleSet, Enforced, beside Enforced, Progressing and Lagging.
const (
	// ReasonNoServers (True): no server is selected, so that nothing is left to enforce.
	ReasonNoServers = "NoServers"
	// ReasonNotAccepted (False): the set is not accepted; what it governs is denied meanwhile, unless spec.enforcement is Audit.
	ReasonNotAccepted = "NotAccepted"
)
