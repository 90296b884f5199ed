package cluster

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	beat    = time.Second
	silence = 5 * beat // after which a node counts as gone
)

// Member is what a node announces of itself each beat.
type Member struct {
	Node    string `json:"node"`
	Session string `json:"session"` // of the process
	URL     string `json:"url"`     // at which it takes uploads
	Waiting int64  `json:"waiting"` // bytes of raw files that wait for maps, in its shards
}

// members are the nodes that announce themselves. Times are of this process's monotonic clock.
type members struct {
	mu   sync.Mutex
	last map[string]heard
	now  func() time.Time
}

type heard struct {
	Member
	at time.Time
}

func newMembers() *members { return &members{last: make(map[string]heard), now: time.Now} }

// hear handles the announcement of a node.
func (m *members) hear(msg *nats.Msg) {
	var member Member
	if json.Unmarshal(msg.Data, &member) != nil || member.Node == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[member.Node] = heard{member, m.now()}
}

// alive returns the nodes that announced themselves recently, by name.
func (m *members) alive() []Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Member
	for _, h := range m.last {
		if m.now().Sub(h.at) < silence {
			list = append(list, h.Member)
		}
	}
	slices.SortFunc(list, func(a, b Member) int { return cmp.Compare(a.Node, b.Node) })
	return list
}

// preferred returns the node that should own a shard, "" if there is none: of the nodes the one
// with the highest hash, so that the loss of a node moves only its own shards.
func preferred(shard int, nodes []Member) string {
	best, highest := "", uint64(0)
	for i := range nodes {
		h := fnv.New64a()
		h.Write([]byte{byte(shard), byte(shard >> 8)})
		h.Write([]byte(nodes[i].Node))
		z := h.Sum64() // mixed as splitmix64 does: the last bytes hardly reach the high bits
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		if z ^= z >> 31; best == "" || z > highest {
			best, highest = nodes[i].Node, z
		}
	}
	return best
}
