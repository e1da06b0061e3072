// Package kubernetes holds no code of the server's: its tests run understudy on
// a real Kubernetes of one node: etcd, API server, controller manager,
// scheduler, kubelet, containerd, and agent-sandbox's controller.
//
// All of it lives in cgroup, network, mount and process namespaces of its own.
// go test starts the test binary, which prepares a folder and cgroups and starts
// itself again as process 1 of new namespaces; that one mounts what a node needs
// and starts the binary a third time, which runs the tests. So a test reaches
// pods by their addresses and files by their paths, and when the tests end,
// process 1 ends, and with it everything. The first process then checks that
// nothing is left.
//
// The programs come from the module deploy/kubernetes/testcluster, so the tests
// run with "make kubernetes" alone, which builds them below build/ and names the
// place in UNDERSTUDY_KUBERNETES. Without it the tests are skipped. When a test
// fails, what the parts of the cluster have logged is kept in the folder logs there.
package kubernetes
