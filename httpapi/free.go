package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"leasehold/lease"
	"leasehold/session"
)

const (
	defaultLimit = 100
	mostLimit    = 1000
	// stepCount is about how many keys Redis looks at a step, and so how many IDs are
	// in memory at once.
	stepCount = 1000
	// listLimit bounds the search for one page: where little is free it may be short
	// of the limit, or empty, and still have a next one.
	listLimit = 3 * time.Second
)

// The values of leased.
const (
	onlyFree   = "false" // the sessions free to lease
	onlyLeased = "true"
)

// place is where a listing goes on: behind After in the step from Step, if that
// still leads to Next. If it does not, Redis has resized its table meanwhile, and
// the step is taken again as a whole: a session may come twice then, but none that is
// there all the time is left out.
type place struct {
	Step  string `json:"s,omitempty"`
	Next  string `json:"n,omitempty"`
	After string `json:"a,omitempty"`
}

func (p place) String() string {
	text, err := json.Marshal(p)
	if err != nil { // strings only: can't be
		return ""
	}

	return base64.RawURLEncoding.EncodeToString(text)
}

func parsePlace(cursor string) (place, error) {
	var p place
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return p, err
	}

	err = json.Unmarshal(text, &p)

	return p, err
}

// listing is a page in the making.
type listing struct {
	limit int
	// leased is onlyFree or onlyLeased, or empty: all sessions.
	leased string
	// kind is that of the sessions that are wanted of those free to lease; empty: any.
	kind session.Kind
	// wait is how long to wait for something free.
	wait time.Duration

	at    place
	found []lease.Record
	ended bool
	// partly leaves out what could not be read, and has unread say why. A page has all
	// or is none.
	partly bool
	unread error
}

// list answers which sessions there are, or are free to lease.
func (a *api) list(r *call) answer {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refuse(badQuery(err))
	}
	l, p := readListing(query)
	if p != nil {
		return refuse(p)
	}
	if l.wait > 0 && !r.headOnly() { // it would be dealt sessions that it does not see
		return a.await(r, l)
	}

	return a.lists.pass(func(r *call) answer { return a.page(r, l, query) })(r)
}

// page answers the page where the listing is.
func (a *api) page(r *call, l *listing, query url.Values) answer {
	switch err := a.fill(r.Context(), l); {
	case errors.Is(err, session.ErrCursor):
		return refuse(badCursor())
	case err != nil:
		return refuse(unknown(err))
	}
	got := answer{status: http.StatusOK, body: free(l.found, r.resource)}
	if l.leased != onlyFree {
		list, err := a.views(r.Context(), r.resource, sessionIDs(l.found))
		if err != nil {
			return refuse(unknown(err))
		}
		got.body = list
	}
	if !l.ended {
		got.follow(r, query, l.at.String())
	}

	return got
}

// follow says where the list goes on.
func (got *answer) follow(r *call, query url.Values, cursor string) {
	query.Set("cursor", cursor)
	got.next = r.URL.EscapedPath() + "?" + query.Encode()
}

func sessionIDs(records []lease.Record) []string {
	ids := make([]string, len(records))
	for i, rec := range records {
		ids[i] = rec.Session
	}

	return ids
}

// free is the body that lists sessions free to lease.
func free(found []lease.Record, resource string) []named {
	list := make([]named, len(found))
	for i, rec := range found {
		list[i] = named{resource: resource, id: rec.Session, rest: freeView{Version: int64(rec.Token)}}
	}

	return list
}

// freeView is what is said of a session that is free to lease.
type freeView struct {
	// Version is that of the last lease; 0: there was none.
	Version int64 `json:"version"`
}

func badCursor() *problem { return unprocessable("cursor is none that a listing gave") }

func readListing(query url.Values) (*listing, *problem) {
	l := &listing{leased: query.Get("leased")}
	if l.leased != onlyFree && l.leased != onlyLeased && query.Has("leased") {
		return nil, unprocessable("leased must be false, for the sessions free to lease, or true")
	}
	if l.kind = session.Kind(query.Get("kind")); query.Has("kind") && (l.leased != onlyFree || !slices.Contains(session.Kinds(), l.kind)) {
		return nil, unprocessable(fmt.Sprintf("kind must be one of %s, with leased=false", kinds()))
	}
	var p *problem
	if l.limit, p = readLimit(query); p != nil {
		return nil, p
	}
	cursor := query.Get("cursor")
	if cursor != "" {
		at, err := parsePlace(cursor)
		if err != nil {
			return nil, badCursor()
		}
		l.at = at
	}
	if text := query.Get("wait"); text != "" {
		wait, err := time.ParseDuration(text)
		if err != nil || wait < 0 || wait > mostWait || cursor != "" || l.leased != onlyFree {
			return nil, unprocessable(fmt.Sprintf("wait must be from 0s to %s, on the first page of leased=false", mostWait))
		}
		l.wait = wait
	}

	return l, nil
}

func kinds() string {
	names := make([]string, 0, len(session.Kinds()))
	for _, k := range session.Kinds() {
		names = append(names, string(k))
	}

	return strings.Join(names, ", ")
}

func readLimit(query url.Values) (int, *problem) {
	text := query.Get("limit")
	if text == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostLimit {
		return 0, unprocessable(fmt.Sprintf("limit must be from 1 to %d", mostLimit))
	}

	return n, nil
}

// fill goes on step by step until the page is full, all was seen, or it has taken
// long enough.
func (a *api) fill(ctx context.Context, l *listing) error {
	for deadline := time.Now().Add(listLimit); len(l.found) < l.limit && !l.ended && time.Now().Before(deadline); {
		if full, err := a.step(ctx, l); full || err != nil {
			return err
		}
	}

	return nil
}

// step looks at the next IDs. It reports whether the page was full before their end.
func (a *api) step(ctx context.Context, l *listing) (full bool, err error) {
	ids, next, err := a.Store.Page(ctx, l.at.Step, stepCount)
	if err != nil {
		return false, err
	}
	full, err = a.add(ctx, l, l.rest(ids, next))
	switch {
	case err != nil:
		return false, err
	case full:
		l.at = place{Step: l.at.Step, Next: next, After: l.found[len(l.found)-1].Session}
	default:
		l.at = place{Step: next}
		l.ended = next == ""
	}

	return full, nil
}

// rest returns what a step has left for this page, in an order that stays the same
// whatever else comes and goes.
func (l *listing) rest(ids []string, next string) []string {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if l.at.After == "" || next != l.at.Next {
		return ids
	}
	i, found := slices.BinarySearch(ids, l.at.After)
	if found {
		i++
	}

	return ids[i:]
}

// add adds those that the listing is about. It reports whether the page was full
// before the end of the IDs. What is behind a full page is read again for the next one,
// so few more are read than it may need: one tells that there are more; and ever more
// at once, since of many that are looked at few may be wanted.
func (a *api) add(ctx context.Context, l *listing, ids []string) (full bool, err error) {
	for size := l.limit - len(l.found) + 1; len(ids) > 0; size *= 2 {
		n := min(size, mostLimit+1, len(ids))
		records := a.Store.Read(ctx, ids[:n])
		ids = ids[n:]
		some := make([]lease.Record, 0, len(records))
		for _, rec := range records {
			if rec.Err != nil && !errors.Is(rec.Err, lease.ErrForeign) && !l.goesOn(rec.Err) {
				return false, rec.Err
			}
			if l.wants(rec) {
				some = append(some, rec)
			}
		}
		if full, err := a.addSome(ctx, l, some); full || err != nil {
			return full, err
		}
	}

	return false, nil
}

// goesOn reports whether the listing does so without what could not be read.
func (l *listing) goesOn(unread error) bool {
	l.unread = unread

	return l.partly
}

// wants reports whether a lease is as the listing has it.
func (l *listing) wants(rec lease.Record) bool {
	switch l.leased {
	case onlyFree:
		return rec.Err == nil && rec.Holder == ""
	case onlyLeased:
		return rec.Err == nil && rec.Holder != ""
	default:
		return true
	}
}

func (a *api) addSome(ctx context.Context, l *listing, some []lease.Record) (full bool, err error) {
	if l.leased != onlyFree {
		n := min(l.limit-len(l.found), len(some))
		l.found = append(l.found, some[:n]...)

		return n < len(some), nil
	}
	for part := range slices.Chunk(some, l.limit+1) {
		if full, err := a.addUsable(ctx, l, part); full || err != nil {
			return full, err
		}
	}

	return false, nil
}

// addUsable adds those whose documents may be leased.
func (a *api) addUsable(ctx context.Context, l *listing, free []lease.Record) (full bool, err error) {
	for i, t := range a.targets(ctx, sessionIDs(free)) {
		switch {
		case t.unread != nil && !l.goesOn(t.unread):
			return false, t.unread
		case t.unread != nil || t.fault != nil || l.kind != "" && t.kind != l.kind:
		case len(l.found) == l.limit:
			return true, nil
		default:
			l.found = append(l.found, free[i])
		}
	}

	return false, nil
}
