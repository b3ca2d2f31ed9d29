package redisinfo_test

import (
	"testing"

	"github.com/onsi/gomega"

	"leasehold/redisinfo"
)

func TestField(t *testing.T) {
	g := gomega.NewWithT(t)
	const info = "# Server\r\nredis_version:7.0.15\r\nrun_id:aa\r\nnonsense\r\n:\r\nexecutable:/a:b"
	g.Expect(redisinfo.Field(info, "run_id")).To(gomega.Equal("aa"))
	g.Expect(redisinfo.Field(info, "executable")).To(gomega.Equal("/a:b"))
	g.Expect(redisinfo.Field(info, "id")).To(gomega.BeEmpty())
	g.Expect(redisinfo.Field("", "run_id")).To(gomega.BeEmpty())
}
