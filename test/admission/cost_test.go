// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// costShare is how much of the API server's cost limits the rules of one CRD may take, so that there is room to grow.
const costShare = 0.5

// oldest is the oldest Kubernetes that is supported: rules may use only what its CEL knows.
var oldest = version.MajorMinor(1, 33)

// ruleCost is the estimate of one rule, times how often it can run in one object.
type ruleCost struct {
	path string
	rule string
	cost uint64
}

// TestRulesAreCheap prints what the API server estimates for the rules of each CRD: it refuses a CRD whose estimate is over
// its limits, and a CRD that only just fits could never get another rule.
func TestRulesAreCheap(t *testing.T) {
	for _, crd := range readCRDs(t) {
		var root apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schemaOf(crd), &root, nil); err != nil {
			t.Fatal(err)
		}
		costs, err := costsBelow("", &root, validation.RootCELContext(&root))
		if err != nil {
			t.Fatalf("%s%v", crd.Spec.Names.Kind, err)
		}
		var total uint64
		var dearest ruleCost
		for _, c := range costs {
			total += c.cost
			if c.cost > dearest.cost {
				dearest = c
			}
		}
		t.Logf("%-9s %2d rules, estimated cost %8d of %d; the dearest %7d of %d: %s %.60s", crd.Spec.Names.Kind, len(costs), total,
			validation.StaticEstimatedCRDCostLimit, dearest.cost, validation.StaticEstimatedCostLimit, dearest.path, dearest.rule)
		if float64(total) > costShare*validation.StaticEstimatedCRDCostLimit || float64(dearest.cost) > costShare*validation.StaticEstimatedCostLimit {
			t.Errorf("%s: the rules take more than %.0f %% of what the API server allows", crd.Spec.Names.Kind, 100*costShare)
		}
	}
}

func costsBelow(path string, s *apiextensions.JSONSchemaProps, c *validation.CELSchemaContext) ([]ruleCost, error) {
	var out []ruleCost
	info, err := c.TypeInfo()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if info != nil && len(s.XValidations) > 0 {
		results, err := cel.Compile(info.Schema, info.DeclType, celconfig.PerCallLimit,
			environment.MustBaseEnvSet(oldest), cel.NewExpressionsEnvLoader())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for i, r := range results {
			if r.Error != nil {
				return nil, fmt.Errorf("%s: %s: %s", path, s.XValidations[i].Rule, r.Error.Detail)
			}
			times := r.MaxCardinality
			if c.MaxCardinality != nil {
				times = *c.MaxCardinality
			}
			out = append(out, ruleCost{path, s.XValidations[i].Rule, r.MaxCost * times})
		}
	}
	for name, child := range s.Properties {
		below, err := costsBelow(path+"."+name, &child, c.ChildPropertyContext(&child, name))
		if err != nil {
			return nil, err
		}
		out = append(out, below...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		below, err := costsBelow(path+"[]", s.Items.Schema, c.ChildItemsContext(s.Items.Schema))
		if err != nil {
			return nil, err
		}
		out = append(out, below...)
	}
	return out, nil
}
