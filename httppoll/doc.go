// Package httppoll sends the HTTP request of one poll and judges the answer.
//
// # Owns
//
// The connection pool of a node, the headers that name the poller, the redirect
// rule, the bound on an answer's size, and the words for what went wrong. It knows
// nothing of Redis, of actors or of when to poll.
//
// # Invariants
//
//   - A poll ends when its context ends or the session's timeout has passed,
//     whichever is first, also while an answer trickles in. Which of the two it was
//     is told apart: [ClassCanceled] or [ClassTimeout].
//   - When [Client.Poll] returns after such an end, the connection of an HTTP/1
//     request is closed and the stream of an HTTP/2 request is reset.
//   - No request is sent once Request.Holds reports false: of HTTP/1 it is asked by the
//     write itself, of HTTP/2 when the request has its connection.
//   - Every request carries Leasehold-Instance and Leasehold-Token; a document's
//     headers cannot replace them.
//   - At most [MaxRedirects] redirects are followed, and only to the scheme, host
//     and port of the document's URL, so credentials never reach another origin. A
//     redirect status that the document expects is not followed but judged.
//   - No more than Config.MaxBody bytes of an answer are read after decompression,
//     nor much more than that before.
//   - The text of an error holds no user part, path or query of a URL and no value
//     of a header.
//   - No connection is made to an address of Config.Deny, whatever name leads there;
//     reused connections cost no look.
//   - Certificates are always verified.
//
// # Not promised
//
// One request a poll: net/http repeats a GET, HEAD, OPTIONS or TRACE (and any
// request with an Idempotency-Key header) whose reused connection the target closed
// before it answered, because a target that just ended an idle connection looks the
// same. The two sends carry the same token, follow one another and share one
// deadline. Other methods are repeated only if nothing was sent.
//
// Proxies: the environment's HTTP_PROXY, HTTPS_PROXY and NO_PROXY are ignored on
// purpose. A fleet's nodes must all reach a target the same way, and a proxy would
// see the documents' credentials.
//
// Compression other than gzip: it is not asked for, and if a document asks for it
// the answer is judged as it came.
//
// That the target stops: it may go on working on a request that was ended here.
//
// # On failure
//
// Poll never panics and returns no error besides the one in its [Outcome]. A failure
// leaves the client usable. A connection whose answer was not read to its end is
// closed, not reused.
package httppoll
