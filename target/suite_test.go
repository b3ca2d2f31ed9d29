package target_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"

	"leasehold/target"
)

func TestTarget(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "target")
}

const patience = 5 * time.Second

// rig is a target that is served, and a client that polls it.
type rig struct {
	*target.Target

	server *target.Server
	client *http.Client
}

func serve(o target.Options) *rig {
	GinkgoHelper()
	before := gleak.Goroutines()
	ctx, cancel := context.WithCancel(context.Background())
	t := target.New(o)
	s, err := target.Serve(ctx, "127.0.0.1:0", t)
	Expect(err).NotTo(HaveOccurred())
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	DeferCleanup(func() {
		Expect(s.Close()).To(Succeed())
		Expect(s.Close()).To(Succeed())
		cancel()
		transport.CloseIdleConnections()
		Eventually(gleak.Goroutines, patience).ShouldNot(gleak.HaveLeaked(before))
	})
	noFollow := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &rig{t, s, &http.Client{Transport: transport, CheckRedirect: noFollow}}
}

// do sends a poll as the instance with the token.
func (r *rig) do(ctx context.Context, url, instance, token string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Leasehold-Instance", instance)
	req.Header.Set("Leasehold-Token", token)
	return r.client.Do(req)
}

func (r *rig) poll(ctx context.Context, url, instance, token string) int {
	GinkgoHelper()
	resp, err := r.do(ctx, url, instance, token)
	Expect(err).NotTo(HaveOccurred())
	Expect(resp.Body.Close()).To(Succeed())
	return resp.StatusCode
}
