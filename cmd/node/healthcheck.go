package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"leasehold/certfile"
	"leasehold/cli"
	"leasehold/config"
)

const (
	// askLimit bounds the question of a health check; the node's own checks get a second.
	askLimit = 3 * time.Second
	// answerMost bounds what is shown of an answer, in bytes.
	answerMost = 4 << 10
)

func (a *app) healthcheckCommand() *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask the node of this host whether it works",
		Long: `Ask the node that LEASEHOLD_HTTP_ADDR names whether it works, by /healthz, and exit
with 0 if it does and 1 if not. It is for images that have no curl. With --ready,
/readyz is asked. Where LEASEHOLD_HTTP_CERT_FILE is set, it asks by TLS, and only who
shows that certificate, or one for the key beside it, is believed. No other setting is
read.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.code = a.healthcheck(cmd, ready)
			return nil
		},
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "ask whether the node is ready")
	cmd.Flags().String("http-addr", "", "LEASEHOLD_HTTP_ADDR")
	return cmd
}

func (a *app) healthcheck(cmd *cobra.Command, ready bool) exitCode {
	cfg, err := cli.Address(cmd, a.environ)
	if err != nil {
		fmt.Fprintf(a.stderr, "leasehold: %v\n", err)
		return exitUsage
	}
	host, err := reachable(cfg.HTTPAddr)
	if err != nil {
		fmt.Fprintf(a.stderr, "leasehold: %s (%q): %v\n", httpAddrVar, cfg.HTTPAddr, err)
		return exitUsage
	}
	path := "/healthz"
	if ready {
		path = "/readyz"
	}
	own, err := shownBy(cfg)
	if err != nil {
		fmt.Fprintf(a.stderr, "leasehold: LEASEHOLD_HTTP_CERT_FILE can not be used: %v\n", err)
		return exitUsage
	}
	scheme := "http://"
	if own != nil {
		scheme = "https://"
	}
	status, body, err := ask(cmd.Context(), scheme+host+path, own)
	switch {
	case err != nil:
		fmt.Fprintf(a.stderr, "leasehold: the node at %s does not answer: %v\n", host, err)
		return exitFailure
	case status != http.StatusOK:
		fmt.Fprintf(a.stderr, "leasehold: %s of the node at %s is %d: %s\n", path, host, status, body)
		return exitFailure
	}
	fmt.Fprintln(a.stdout, body)
	return exitOK
}

// reachable returns where a server of this host that listens on addr can be asked.
func reachable(addr string) (string, error) {
	if addr == "" {
		return "", errors.New("the node has no HTTP server")
	}
	host, port, err := net.SplitHostPort(addr)
	switch {
	case err != nil: // the settings were checked
		return "", err
	case port == "0":
		return "", errors.New("the port that the node got is not known here; it logs it as http_addr")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port), nil
}

// shownBy returns how to know the node by the certificate of the settings, or nil where
// it speaks no TLS. Its names do not matter: this is not where others reach the node. Nor
// does it matter whether its files fit each other, as long as the node goes on.
func shownBy(cfg config.Config) (*tls.Config, error) {
	if cfg.HTTPCertFile == "" {
		return nil, nil //nolint:nilnil // nothing is said, and nothing is wrong
	}
	known, err := certfile.Known(cfg.HTTPCertFile, cfg.HTTPKeyFile)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // more is asked for than a name and an authority: the very certificate
		VerifyConnection: func(state tls.ConnectionState) error {
			if !known(state.PeerCertificates[0]) {
				return errors.New("it shows another certificate than that of LEASEHOLD_HTTP_CERT_FILE")
			}
			return nil
		},
	}, nil
}

// ask gets a URL and returns what it answers. It follows no redirect and uses no proxy.
func ask(ctx context.Context, url string, server *tls.Config) (status int, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: server},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }() // all that matters was read
	text, err := io.ReadAll(io.LimitReader(resp.Body, answerMost))
	if err != nil {
		return 0, "", err
	}
	return resp.StatusCode, strings.TrimSpace(string(text)), nil
}
