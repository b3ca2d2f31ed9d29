package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"
)

// What a worker gives back of a session that was removed leaves nothing behind.
func TestAReleaseOfARemovedSessionDropsItsState(t *testing.T) {
	for _, named := range []bool{true, false} {
		onBench(t, func(b *bench) {
			b.put("s1", external)
			took := b.want(http.StatusCreated, "POST", s1, asW1)
			b.rdb.Del(b.t.Context(), b.keys.Session("s1"))
			b.want(http.StatusNoContent, "DELETE", s1, asW2)
			if b.holder("s1") != "w1" || b.token("s1") != took.Version {
				t.Errorf("w2's release left %q with token %d", b.holder("s1"), b.token("s1"))
			}
			body := asW1
			if named {
				body = fmt.Sprintf(`{"holder_id":"w1","version":%d}`, took.Version)
			}
			b.want(http.StatusNoContent, "DELETE", s1, body)
			if n := b.rdb.Exists(b.t.Context(), b.keys.State("s1"), b.keys.Lease("s1")).Val(); n != 0 {
				t.Errorf("%d keys are left of a removed session", n)
			}
		})
	}
}

// A lease that ran out before its session was removed is given back late.
func TestALateReleaseOfARemovedSessionDropsItsStateToo(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		b.want(http.StatusCreated, "POST", s1, asW1)
		time.Sleep(ttl + time.Second)
		b.want(http.StatusNoContent, "DELETE", s1, asW1)
		if b.token("s1") == 0 {
			t.Error("the state of a session that is there was dropped")
		}
		b.rdb.Del(b.t.Context(), b.keys.Session("s1"))
		b.want(http.StatusNoContent, "DELETE", s1, asW1)
		if b.token("s1") != 0 {
			t.Error("the state of a removed session is left")
		}
	})
}

// Package json makes one character of every half of a surrogate pair: two holders
// would be one.
func TestAHolderIsWhatItWasSentAs(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		for _, half := range []string{`\ud800`, `\udfff`, `w\ud83dx`} {
			if got := b.send("POST", s1, `{"holder_id":"`+half+`"}`); got.code != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", half, got.code, got.text)
			}
		}
		if got := b.send("POST", s1, `{"holder_id":"\ud83d\ude80"}`); got.code != http.StatusCreated || got.HolderID != "🚀" {
			t.Errorf("a whole pair: %d %s", got.code, got.text)
		}
	})
}

func TestProblemsHaveATypeOfTheirOwn(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		types := map[string]bool{}
		for _, got := range []reply{
			b.want(http.StatusNotFound, "GET", "/api/v1/sessions/none/lease", ""),
			b.want(http.StatusNotFound, "GET", s1, ""),
			b.want(http.StatusNotFound, "GET", "/api/v1/none", ""),
			b.want(http.StatusUnprocessableEntity, "POST", s1, "{}"),
		} {
			var p struct{ Type string }
			if err := json.Unmarshal([]byte(got.text), &p); err != nil || !regexp.MustCompile(`^urn:leasehold:problem:[a-z-]+$`).MatchString(p.Type) {
				t.Errorf("%s: %v", got.text, err)
			}
			types[p.Type] = true
		}
		if len(types) != 4 {
			t.Errorf("four problems have the types %v", types)
		}
	})
}

func TestRenewalsAreLoggedLikeThoseOfNodes(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		took := b.want(http.StatusCreated, "POST", s1, asW1)
		b.want(http.StatusOK, "POST", s1+"/renew", asW1)
		b.want(http.StatusNotFound, "POST", s1+"/renew", asW2)
		lines := b.logged("lease.renewed")
		if len(lines) != 1 || lines[0]["holder"] != "w1" || lines[0]["level"] != "debug" ||
			lines[0]["version"] != float64(took.Version) || lines[0]["endpoint_id"] != "s1" {
			t.Errorf("logged as %v", lines)
		}
	})
}
