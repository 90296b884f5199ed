// Package cluster runs a collector on several nodes, which store uploads in streams of NATS
// JetStream. The servers run inside the nodes' processes, or exist already.
//
// Builds are distributed over shards by a hash of their ids. A shard has a stream with the
// journal of its uploads. Any node accepts an upload and appends its files to the journals of
// their shards; JetStream acknowledges an append when most replicas have it on their disks.
//
// One node, the owner, merges the journal of a shard, writes the snapshots and answers queries.
// Nodes announce themselves once a second. If the owner of a shard is silent, one of the other
// nodes becomes the owner; a shard has the same preferred owner on all nodes that see each other
// (rendezvous hashing), and a node hands shards over to preferred owners that come back.
//
// Counting each upload once does not depend on there being one owner, or on clocks. The state of
// a shard is a function of the records in its journal. A snapshot has the number of the last
// record in it, and takes effect by one compare-and-swap of the shard's head. An owner whose swap
// fails has been replaced: it discards its state. So a node that is suspended and goes on later
// does no harm.
package cluster
