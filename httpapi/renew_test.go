package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"leasehold/httpapi"
)

const batchPath = "/api/v1/leases/renew"

func TestARenewalKeepsTheTokenAndRestartsTheTTL(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		took := b.want(http.StatusCreated, "POST", s1, asW1)
		for _, body := range []string{asW1, fmt.Sprintf(`{"holder_id":"w1","version":%d}`, took.Version), `{"holder_id":"w1","version":null,"more":1}`} {
			time.Sleep(20 * time.Second)
			got := b.want(http.StatusOK, "POST", s1+"/renew", body)
			end := time.Now().Add(ttl)
			if got.Version != took.Version || got.HolderID != "w1" || b.left("s1") != ttl ||
				got.ExpiresAt.After(end) || got.ExpiresAt.Before(end.Add(-time.Second)) {
				t.Errorf("%s after %s, %s left", got.text, took.text, b.left("s1"))
			}
		}
	})
}

func TestARenewalOfALostLeaseIsNotFoundAndTouchesNothing(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		b.want(http.StatusNotFound, "POST", s1+"/renew", asW1)
		took := b.want(http.StatusCreated, "POST", s1, asW1)
		time.Sleep(ttl + time.Second)
		version := fmt.Sprintf(`{"holder_id":"w1","version":%d}`, took.Version)
		b.want(http.StatusNotFound, "POST", s1+"/renew", asW1)
		b.want(http.StatusNotFound, "POST", s1+"/renew", version)
		if b.holder("s1") != "" {
			t.Error("a renewal took the lease")
		}
		b.want(http.StatusCreated, "POST", s1, asW2)
		time.Sleep(time.Second)
		for _, body := range []string{asW1, version, fmt.Sprintf(`{"holder_id":"w2","version":%d}`, took.Version)} {
			if got := b.want(http.StatusNotFound, "POST", s1+"/renew", body); got.HolderID != "w2" {
				t.Errorf("%s does not name who has it", got.text)
			}
		}
		if b.holder("s1") != "w2" || b.left("s1") != ttl-time.Second {
			t.Errorf("%q has it for %s", b.holder("s1"), b.left("s1"))
		}
	})
}

// A session that is paused, deleted or broken takes its lease from an external holder
// as it does from a node.
func TestARenewalEndsTheLeaseOfWhatMayNotBePolledAnyMore(t *testing.T) {
	for document, reason := range map[string]string{"": "deleted", `{"kind":"external","paused":true}`: "paused", "{": "paused"} {
		onBench(t, func(b *bench) {
			b.put("s1", external)
			took := b.want(http.StatusCreated, "POST", s1, asW1)
			if document == "" {
				b.rdb.Del(b.t.Context(), b.keys.Session("s1"))
			} else {
				b.put("s1", document)
			}
			b.want(http.StatusNotFound, "POST", s1+"/renew", asW2)
			b.want(http.StatusNotFound, "POST", s1+"/renew", fmt.Sprintf(`{"holder_id":"w1","version":%d}`, took.Version-1))
			if b.holder("s1") != "w1" {
				t.Fatal("who does not hold it ended it")
			}
			b.want(http.StatusNotFound, "POST", s1+"/renew", asW1)
			if b.holder("s1") != "" || document == "" && b.token("s1") != 0 || document != "" && b.token("s1") != took.Version {
				t.Errorf("%q: holder %q, token %d", document, b.holder("s1"), b.token("s1"))
			}
			if l := b.logged("lease.released"); len(l) != 1 || l[0]["reason"] != reason || l[0]["holder"] != "w1" {
				t.Errorf("%q: logged %v", document, l)
			}
		})
	}
}

// batchReply is the answer to a batch.
type batchReply struct {
	Leases []struct {
		SessionID string     `json:"session_id"`
		SceneID   string     `json:"scene_id"`
		Status    int        `json:"status"`
		HolderID  string     `json:"holder_id"`
		Version   int64      `json:"version"`
		ExpiresAt *time.Time `json:"expires_at"`
		Problem   *struct {
			Status int    `json:"status"`
			Title  string `json:"title"`
		} `json:"problem"`
	} `json:"leases"`
}

func (b *bench) batch(body string) batchReply {
	b.t.Helper()
	var got batchReply
	if err := json.Unmarshal([]byte(b.want(http.StatusOK, "POST", batchPath, body).text), &got); err != nil {
		b.t.Fatal(err)
	}
	return got
}

func TestABatchAnswersForEachInOrder(t *testing.T) {
	onBench(t, func(b *bench) {
		for id, document := range map[string]string{"s1": external, "s2": `{"kind":"external","lease_ttl":"60s"}`, "a/b": external, "s4": external} {
			b.put(id, document)
		}
		one := b.want(http.StatusCreated, "POST", s1, asW1)
		b.want(http.StatusCreated, "POST", "/api/v1/sessions/s2/lease", asW1)
		b.want(http.StatusCreated, "POST", "/api/v1/sessions/a%2Fb/lease", asW2)
		time.Sleep(10 * time.Second)
		got := b.batch(fmt.Sprintf(`{"holder_id":"w1","leases":[
			{"session_id":"s2"}, {"session_id":"s1","version":%d}, {"session_id":"a/b"}, {"session_id":"a/b","holder_id":"w2"},
			{"session_id":"s4"}, {"session_id":"none"}, {"session_id":"s1","holder_id":"n-1-00000001"}, {"session_id":7}, 7, {"scene_id":"s1"},
			{"session_id":"s1","version":1}]}`, one.Version))
		want := []int{200, 200, 404, 200, 404, 404, 422, 422, 400, 200, 404}
		if len(got.Leases) != len(want) {
			t.Fatalf("%d answers: %+v", len(got.Leases), got)
		}
		for i, l := range got.Leases {
			if l.Status != want[i] || (l.Problem == nil) != (l.Status == 200) || l.Problem != nil && (l.Problem.Status != l.Status || l.Problem.Title == "") {
				t.Errorf("answer %d is %+v, want %d", i, l, want[i])
			}
		}
		if l := got.Leases[1]; l.SessionID != "s1" || l.HolderID != "w1" || l.Version != one.Version || !l.ExpiresAt.After(*one.ExpiresAt) {
			t.Errorf("%+v", l)
		}
		if l := got.Leases[9]; l.SceneID != "s1" || l.SessionID != "" {
			t.Errorf("the alias is answered with %+v", l)
		}
		if b.left("s1") != ttl || b.left("s2") != time.Minute || b.left("a/b") != ttl {
			t.Errorf("left: %s, %s, %s", b.left("s1"), b.left("s2"), b.left("a/b"))
		}
	}, func(l *httpapi.Leases) { l.Resource = "scenes" })
}

func TestABatchWithoutAnswerOfRedisIsUnknownForEach(t *testing.T) {
	onBench(t, func(b *bench) {
		b.mini.Down()
		got := b.batch(`{"holder_id":"w1","leases":[{"session_id":"s1"},{"session_id":"s2","version":3}]}`)
		for _, l := range got.Leases {
			if l.Status != http.StatusServiceUnavailable {
				t.Errorf("%+v", l)
			}
		}
	})
}

func TestABatchHasBounds(t *testing.T) {
	onBench(t, func(b *bench) {
		item := `{"session_id":"` + strings.Repeat("x", 512) + `"}`
		most := strings.Repeat(item+",", 999) + item
		if got := b.batch(`{"holder_id":"w1","leases":[` + most + `]}`); len(got.Leases) != 1000 {
			t.Errorf("%d answers", len(got.Leases))
		}
		b.want(http.StatusUnprocessableEntity, "POST", batchPath, `{"holder_id":"w1","leases":[`+most+`,{}]}`)
		b.want(http.StatusUnprocessableEntity, "POST", batchPath, `{"holder_id":"w1","leases":[]}`)
		b.want(http.StatusUnprocessableEntity, "POST", batchPath, `{}`)
		b.want(http.StatusUnprocessableEntity, "POST", batchPath, `{"leases":{}}`)
		b.want(http.StatusRequestEntityTooLarge, "POST", batchPath, `{"x":"`+strings.Repeat("x", 1<<20)+`"}`)
		b.want(http.StatusMethodNotAllowed, "GET", batchPath, "")
	})
}
