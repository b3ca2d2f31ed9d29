package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// call is one request to the API.
type call struct {
	*http.Request

	// id is the {id} of the path, decoded once, and resource what stands before it.
	id, resource string
	writer       http.ResponseWriter
}

// headOnly reports whether nothing but the header of the answer is wanted: so there is
// nothing to wait for.
func (c *call) headOnly() bool { return c.Method == http.MethodHead }

// grantTime lets the answer take so much longer than others.
func (c *call) grantTime(wait time.Duration) {
	_ = http.NewResponseController(c.writer).SetWriteDeadline(time.Now().Add(wait + answerLimit))
}

// answerLimit bounds the writing of an answer that is late on purpose.
const answerLimit = 10 * time.Second

// handler answers a call.
type handler func(*call) answer

// version is what all paths start with.
const version = root + "v1/"

// sessionID stands in a route's path for the ID of a session.
const sessionID = "{id}"

// find finds who answers. The path is taken as it was sent: it is neither cleaned nor
// decoded as a whole, since an ID may be "..", or have slashes in it.
func (a *api) find(c *call, header http.Header) (handler, *problem) {
	path, ours := strings.CutPrefix(sentPath(c.URL), version)
	var methods []string
	for _, r := range a.routes {
		if !ours || !a.matches(c, r.path, path) {
			continue
		}
		if c.Method == r.method || c.Method == http.MethodHead && r.method == http.MethodGet {
			c.Pattern = r.method + " " + version + r.path // as a ServeMux does
			return r.handle, nil
		}
		methods = append(methods, r.method)
	}
	if methods == nil {
		return nil, noRoute()
	}
	if methods[0] == http.MethodGet {
		methods = slices.Insert(methods, 1, http.MethodHead)
	}
	allow := strings.Join(methods, ", ")
	header.Set("Allow", allow)

	return nil, noMethod(allow)
}

// sentPath is the path as it was sent. Where that has a character that should have been
// escaped, EscapedPath encodes the decoded path anew, and a slash in an ID comes apart.
func sentPath(u *url.URL) string {
	if u.RawPath != "" {
		return u.RawPath
	}

	return u.EscapedPath()
}

// matches compares a path with a route's, part by part, and keeps what stands for the
// session in the call.
func (a *api) matches(c *call, route, path string) bool {
	want, part := strings.Split(route, "/"), strings.Split(path, "/")
	if len(want) != len(part) {
		return false
	}
	for i, w := range want {
		switch {
		case w == sessionID:
			id, err := url.PathUnescape(part[i])
			if err != nil { // the server has refused such a path already
				return false
			}
			c.id = id
		case w == sessions && i == 0 && part[i] == a.Resource && a.Resource != "":
		case w != part[i]:
			return false
		}
	}
	c.resource = part[0]

	return true
}

// idField is the name of a session's ID in bodies: session_id for sessions.
func idField(resource string) string { return strings.TrimSuffix(resource, "s") + "_id" }

func noRoute() *problem { return newProblem(http.StatusNotFound, "no such route", "") }

func noMethod(allow string) *problem {
	return newProblem(http.StatusMethodNotAllowed, "no such method", "this path answers to "+allow)
}
