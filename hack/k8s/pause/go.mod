module toolgate.dev/toolgate/hack/k8s/pause

go 1.26.0
