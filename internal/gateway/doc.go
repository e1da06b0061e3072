// Package gateway gives each client a pod of its own, on Kubernetes, and passes what the
// client sends on to the understudy serve in that pod. kubernetes-sigs/agent-sandbox keeps
// pods warm, places and removes them; Kubernetes is the only database: whatever a gateway
// knows stands in the cluster or in the request, so that any of several may answer, and
// the end of one loses nothing but the connections that it had.
//
// The words:
//
//   - client: who shares a pod: a principal, or an MCP session of one (--pod-per).
//   - claim: the SandboxClaim of a client. Its name is made of the client's.
//   - lease: how long the claim lives, and with it the pod: its shutdownTime.
//   - instance: one server process in a pod. The claim's annotation has the one that
//     answered last; another one knows nothing of the client.
//
// The way of a request:
//
//	transport     lets it in, reads it, counts it                     forward.go there
//	Forward       whose it is, until its pod has answered             gateway.go
//	claims        what is known of the client's, followed             claims.go, claim.go
//	pod           waited for, asked for, made                         fetch.go
//	wait          what the client hears meanwhile                     wait.go
//	send          to the pod, as the gateway, for the client          send.go
//	pass          the answer, event by event                          pass.go, memory.go
//	refuse        what is said where there is none                    refuse.go
//	keep          renews the leases of what is in use                 lease.go
package gateway
