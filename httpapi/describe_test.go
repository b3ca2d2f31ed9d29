package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"

	"leasehold/internal/doctest"
)

// What openapi.json is made from are the routes themselves, here, so that the program
// has neither the libraries for it nor the work at each start.
const (
	bearer = "bearer"
	basic  = "basic"
)

func TestDocumentationOfTheRoutes(t *testing.T) {
	text, err := describe(newAPI(Leases{}, nil).routes)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Indent(&want, text, "", " "); err != nil {
		t.Fatal(err)
	}
	doctest.File(t, "openapi.json", want.String()+"\n")
}

// anyProblem are the statuses with which any route of the API may answer.
func anyProblem() []int {
	return []int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError, http.StatusServiceUnavailable,
	}
}

// describe makes the OpenAPI description of the routes.
func describe(routes []route) ([]byte, error) {
	r := openapi31.NewReflector()
	r.Spec.Info.WithTitle("Leasehold").WithVersion("1").WithDescription(description)
	r.Spec.SetHTTPBearerTokenSecurity(bearer, "", "The value of LEASEHOLD_API_TOKEN; needed where it is set.")
	r.Spec.SetHTTPBasicSecurity(basic, "A name and password of LEASEHOLD_API_USERS_FILE; they do instead of the token.")
	r.JSONSchemaReflector().AddTypeMapping(stamp{}, time.Time{})
	r.DefaultOptions = append(r.DefaultOptions,
		jsonschema.InterceptProp(required), nullable, jsonschema.InterceptNullability(either), jsonschema.StripDefinitionNamePrefix("Httpapi", "Fleetview"))
	for _, route := range routes {
		if err := describeRoute(r, route); err != nil {
			return nil, err
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if err := describeHealth(r, path, http.StatusServiceUnavailable); err != nil {
			return nil, err
		}
	}

	return r.Spec.MarshalJSON()
}

// required makes each field required that is never left out.
func required(p jsonschema.InterceptPropParams) error {
	tag, isBody := p.Field.Tag.Lookup("json")
	if p.Field.Tag.Get("required") == "false" {
		return nil
	}
	if p.Processed && isBody && !strings.HasSuffix(tag, ",omitempty") && !slices.Contains(p.ParentSchema.Required, p.Name) {
		p.ParentSchema.Required = append(p.ParentSchema.Required, p.Name)
	}

	return nil
}

// nullable says where null may be, and not of a type as a whole.
func nullable(c *jsonschema.ReflectContext) { c.EnvelopNullability = true }

// either drops the type beside a choice of null and another one: it would forbid null.
func either(p jsonschema.InterceptNullabilityParams) {
	if len(p.Schema.AnyOf) > 0 {
		p.Schema.Type = nil
	}
}

func describeRoute(r *openapi31.Reflector, route route) error {
	op, err := r.NewOperationContext(route.method, version+route.path)
	if err != nil {
		return err
	}
	op.SetID(route.name)
	op.SetSummary(route.summary)
	op.AddSecurity(bearer)
	op.AddSecurity(basic)
	if route.in != nil {
		op.AddReqStructure(route.in)
	}
	for code, body := range route.out {
		contentType := ""
		if _, ok := body.(streamed); ok {
			contentType = "text/event-stream"
		}
		op.AddRespStructure(body, openapi.WithHTTPStatus(code), openapi.WithContentType(contentType))
	}
	for _, code := range slices.Concat(route.problems, anyProblem()) {
		op.AddRespStructure(problem{}, openapi.WithHTTPStatus(code), openapi.WithContentType(problemType))
	}

	return r.AddOperation(op)
}

// describeHealth describes a route for probes, which needs no token.
func describeHealth(r *openapi31.Reflector, path string, failing int) error {
	op, err := r.NewOperationContext(http.MethodGet, path)
	if err != nil {
		return err
	}
	op.SetSummary("Whether the node works, or is ready")
	op.AddRespStructure(health{}, openapi.WithHTTPStatus(http.StatusOK))
	if failing != 0 {
		op.AddRespStructure(health{}, openapi.WithHTTPStatus(failing))
	}

	return r.AddOperation(op)
}
