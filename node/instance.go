package node

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"
)

// InstanceID returns {name}-{boot time in Unix nanoseconds}-{8 hex digits}: new at
// every start of a process, also when two of one name start at the same moment.
func InstanceID(name string, boot time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails: it ends the process instead
	return fmt.Sprintf("%s-%d-%s", name, boot.UnixNano(), hex.EncodeToString(random[:]))
}
