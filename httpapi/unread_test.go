package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"leasehold/httpapi"
	"leasehold/redisevents"
	"leasehold/session"
)

// apart is a store of which the documents named can't be read, as where the master of a
// cluster hangs that has them.
type apart struct {
	httpapi.Store

	unread []string
}

func (s apart) Get(ctx context.Context, ids []string) ([]session.Document, error) {
	docs, err := s.Store.Get(ctx, ids)
	for i, d := range docs {
		if slices.Contains(s.unread, d.ID) {
			docs[i] = session.Document{ID: d.ID, Unread: errors.New("it hangs")}
			err = errors.New("not all were read")
		}
	}
	return docs, err
}

// hide has the documents named no longer read.
func (b *bench) hide(ids ...string) {
	b.api.Store = apart{Store: b.api.Store, unread: ids}
	b.serve = httpapi.New(httpapi.Config{Leases: &b.api})
}

func TestOfABatchOnlyWhatCouldNotBeReadIsUnknown(t *testing.T) {
	onBench(t, func(b *bench) {
		var list []string
		for _, id := range []string{"good", "hidden", "paused", "long"} {
			b.put(id, external)
			b.want(http.StatusCreated, "POST", leaseOf(id), asW1)
			list = append(list, fmt.Sprintf(`{"session_id":%q}`, id))
		}
		b.put("paused", `{"kind":"external","paused":true}`)
		b.put("long", `{"kind":"external","lease_ttl":"60s"}`)
		b.hide("hidden")
		time.Sleep(10 * time.Second)
		got := b.batch(`{"holder_id":"w1","leases":[` + strings.Join(list, ",") + `]}`)
		for i, code := range []int{200, 503, 404, 200} {
			if l := got.Leases[i]; l.Status != code {
				t.Errorf("%s: %d, want %d", list[i], l.Status, code)
			}
		}
		// What is unknown is left as it is: neither renewed nor taken for deleted.
		if b.left("good") != ttl || b.left("long") != time.Minute || b.holder("paused") != "" || b.left("hidden") != ttl-10*time.Second {
			t.Errorf("left: %s, %s, %s, %s", b.left("good"), b.left("long"), b.left("paused"), b.left("hidden"))
		}
		for _, request := range [][2]string{{"GET", leaseOf("hidden")}, {"POST", leaseOf("hidden")}, {"POST", leaseOf("hidden") + "/renew"}, {"DELETE", leaseOf("hidden")}} {
			b.want(http.StatusServiceUnavailable, request[0], request[1], asW1)
		}
		if b.holder("hidden") != "w1" {
			t.Errorf("held by %q", b.holder("hidden"))
		}
	})
}

// Who waits for something free gets what is free for certain; only those for whom there is
// nothing hear that more is unknown. A page has all or is none.
func TestWhatIsFreeIsOfferedBesideWhatCouldNotBeRead(t *testing.T) {
	onVigil(t, func(b *bench, h *hints, _ chan struct{}) {
		b.hide("hidden")
		offers := b.longPolls(2, longPoll)
		time.Sleep(time.Second)
		for _, id := range []string{"good", "hidden"} {
			b.put(id, external)
		}
		at := time.Now()
		h.give(redisevents.SessionTouched{ID: "hidden"}, redisevents.SessionTouched{ID: "good"})
		if o := <-offers; o.code != http.StatusOK || !slices.Equal(o.ids, []string{"good"}) || time.Since(at) > 0 {
			t.Errorf("%d after %s: %s", o.code, time.Since(at), o.text)
		}
		if o := <-offers; o.code != http.StatusOK && o.code != http.StatusServiceUnavailable || slices.Contains(o.ids, "hidden") {
			t.Errorf("%d: %s", o.code, o.text)
		}
		b.want(http.StatusServiceUnavailable, "GET", free, "")
		time.Sleep(recheck)

		if o := <-b.longPolls(1, longPoll); o.code != http.StatusOK || !slices.Equal(o.ids, []string{"good"}) { // looks at all
			t.Errorf("%d: %s", o.code, o.text)
		}
		b.want(http.StatusCreated, "POST", leaseOf("good"), asW1)
		time.Sleep(recheck)
		if o := <-b.longPolls(1, longPoll); o.code != http.StatusServiceUnavailable || retryAfter(o.reply) < 1 {
			t.Errorf("%d: %s", o.code, o.text)
		}
	})
}
