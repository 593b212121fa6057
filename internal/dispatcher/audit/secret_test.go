// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
)

func TestNamesOfSecrets(t *testing.T) {
	for name, tc := range map[string]struct {
		names []string
		value string // "x" in quotes unless it is set
		want  bool
	}{
		"the words by themselves": {append([]string{"tokens", "credentials", "Set-Cookie"}, append(secretParts, secretWords...)...), "", true},
		"words before it, however they are joined": {[]string{"dbPassword", "db_password", "DB-PASSWORD", "dbpassword", "DBPassword", "githubToken", "GITHUB_TOKEN",
			"x-api-key", "X-Goog-Api-Key", "openaiApiKey", "OPENAI_APIKEY", "bearerToken", "connectionString", "aws.secret.access.key", "client secret"}, "", true},
		"words behind it":                {[]string{"passwordHash", "token_value", "tokenType", "secretKeyRef", "authorizationHeader", "apiKeyId", "password2", "_token_"}, "", true},
		"short words":                    {[]string{"dbPass", "DB_PWD", "sentry-dsn", "authHeader", "userJWT", "otp1"}, "", true},
		"what is no text":                {[]string{"dbPassword", "apiKey", "clientSecret", "sessionToken", "otp", "accessToken2"}, "123456", true},
		"lists of secrets":               {[]string{"tokens", "refreshTokens", "maxTokens", "tokenCount"}, `["x"]`, true},
		"counts in text may be anything": {[]string{"maxTokens", "tokens"}, "", true},
		"a count that is a secret's too": {[]string{"tokenNumber", "maxTokensPassword", "tokenCountSecret", "tokenTotalToken"}, "5", true},
		"counts of tokens": {[]string{"tokens", "maxTokens", "max_tokens", "tokenCount", "token-limit", "totalTokens", "promptTokens", "completion_tokens",
			"tokensPerMinute", "tokenUsage"}, "4096", false},
		"names that only sound alike": {[]string{"secretary", "generalSecretary", "author", "authority", "passenger", "bypassing", "compass", "key", "keyboard", "path",
			"monkey", "sort_key", "primaryKey", "options", "", "-", "ключ"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, member := range tc.names {
				value := tc.value
				if value == "" {
					value = `"x"`
				}
				raw, want := fmt.Sprintf(`{"%s":%s}`, member, value), fmt.Sprintf(`{"%s":%s}`, member, value)
				if tc.want {
					want = fmt.Sprintf(`{"%s":"(redacted)"}`, member)
				}
				var r Record
				NewPayloads(registry.Audit{Arguments: true}).Fill(&r, []byte(raw), nil)
				if string(r.Arguments) != want {
					t.Errorf("%s is recorded as %s", raw, r.Arguments)
				}
			}
		})
	}
}

// What is left out is told to those who decide whether values are recorded.
func TestNamesOfSecretsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]string{secretParts, secretWords, counts} {
		if want := "`" + strings.Join(list, "`, `") + "`"; !strings.Contains(strings.ReplaceAll(string(text), "\n", " "), want) {
			t.Errorf("docs/audit.md lacks %s", want)
		}
	}
}
