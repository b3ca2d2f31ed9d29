// Package webhook is the sink that sends each result to a receiver as an HTTP
// request, signed as the Standard Webhooks specification has it.
//
// # Owns
//
// The request's form, its signature, and when it is sent again.
//
// # Invariants
//
//   - The body is the event as it stands in the stream; webhook-id is its ID, the same
//     in each try, so that a receiver knows what it has seen.
//   - A try is signed when it is sent, so its timestamp is never old.
//   - No error holds the secret, or the URL: receivers put secrets into paths.
//   - Redirects are not followed: a signature is for one receiver.
//   - Certificates are verified. The environment's proxy settings hold.
//
// # Not promised
//
// Order between sessions. That a receiver gets a result once.
//
// # On failure
//
// No answer, 408, 425, 429 and 5xx are tried again: after half a second, doubled each
// time up to half a minute, and half as much more or less by chance; or after as many
// seconds as Retry-After says, but half a minute at most: more would leave few tries in
// the two minutes after which the result is given up. Meanwhile the next ones of its
// lane wait. All other answers but 2xx are final.
package webhook
