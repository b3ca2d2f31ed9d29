package config

import (
	"encoding/base64"
	"errors"
	"math"
	"net/url"
	"slices"
	"strings"
)

// resultVars say where results go.
func resultVars() []Var {
	return []Var{
		text(Var{
			Name: "LEASEHOLD_RESULT_STREAM", DefaultText: "key prefix + results (poll:results)", EmptyCounts: true,
			Meaning: "Redis stream of results; set but empty: no stream",
		}, func(c *Config) *string { return &c.ResultStream }, anything),
		number(Var{
			Name: "LEASEHOLD_RESULT_MAXLEN", Default: "100000",
			Meaning: "about how many results the stream keeps",
		}, 1, math.MaxInt64, func(c *Config) *int64 { return &c.ResultMaxLen }),
		sinksVar(),
		webhookVar(),
		secret(Var{
			Name:    "LEASEHOLD_RESULT_WEBHOOK_SECRET",
			Meaning: "what webhooks are signed with: `whsec_` and the base64 of 24 to 64 bytes",
		}, func(c *Config) *Secret { return &c.ResultWebhookSecret }, checkSigningSecret),
		text(Var{
			Name:    "LEASEHOLD_RESULT_WEBHOOK_SECRET_FILE",
			Meaning: "file that holds that secret",
		}, func(c *Config) *string { return &c.ResultWebhookSecretFile }, anything),
	}
}

func sinksVar() Var {
	rule := errors.New("must be stdout, webhook, or both with a comma between")
	return Var{
		Name:    "LEASEHOLD_RESULT_SINKS",
		Meaning: "where results go beside the stream: `stdout` (JSON lines), `webhook`, or both with a comma between",
		set: func(c *Config, s string) error {
			var sinks []ResultSink
			for name := range strings.SplitSeq(s, ",") {
				sink := ResultSink(strings.TrimSpace(name))
				if sink != SinkStdout && sink != SinkWebhook || slices.Contains(sinks, sink) {
					return rule
				}
				sinks = append(sinks, sink)
			}
			c.ResultSinks = sinks
			return nil
		},
		get: func(c *Config) string {
			names := make([]string, len(c.ResultSinks))
			for i, s := range c.ResultSinks {
				names[i] = string(s)
			}
			return strings.Join(names, ",")
		},
	}
}

func webhookVar() Var {
	v := text(Var{
		Name:    "LEASEHOLD_RESULT_WEBHOOK_URL",
		Meaning: "where the `webhook` sink sends results: `http://` or `https://`",
		mask:    maskPath,
	}, func(c *Config) *Secret { return &c.ResultWebhookURL }, checkWebhookURL)
	v.show = func(c *Config) string { return maskPath(string(c.ResultWebhookURL)) }
	return v
}

func checkWebhookURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || len(s) > 4096 {
		return errors.New("must be http:// or https://, a host, and what follows")
	}
	return nil
}

// maskPath leaves scheme and host of a URL: with webhooks, the path is often the
// secret.
func maskPath(s string) string {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return ""
	case err != nil || u.Host == "":
		return masked
	case u.User == nil && u.RawQuery == "" && (u.Path == "" || u.Path == "/"):
		return s
	default:
		return u.Scheme + "://" + u.Host + "/" + masked
	}
}

// checkSigningSecret is the rule of the Standard Webhooks specification.
func checkSigningSecret(s string) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, "whsec_"))
	if err != nil || len(key) < 24 || len(key) > 64 {
		return errors.New("must be whsec_ and the base64 of 24 to 64 bytes")
	}
	return nil
}

// relateSinks: a webhook needs somewhere to go, and a signature.
func (l *loader) relateSinks() {
	const sinks, address, signature = "LEASEHOLD_RESULT_SINKS", "LEASEHOLD_RESULT_WEBHOOK_URL", "LEASEHOLD_RESULT_WEBHOOK_SECRET"
	if !l.sound(sinks, address, signature, signature+"_FILE") || !slices.Contains(l.cfg.ResultSinks, SinkWebhook) {
		return
	}
	if l.cfg.ResultWebhookURL == "" || l.cfg.ResultWebhookSecret == "" {
		l.fault(sinks, "webhook needs "+address+", and "+signature+" or "+signature+"_FILE")
	}
}
