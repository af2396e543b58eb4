"""Secrets are masked before anything is stored, and nothing else is."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collector.core.redaction import MASK, is_secret_key, masked, masked_text, secrets_in, suspicious
from tests.tables import sentences


@sentences(
    "text, kept",
    {
        "a bearer token": ("Authorization: Bearer abc.def.ghi", "Authorization: Bearer [redacted]"),
        "a bearer token without a header": ("sent bearer abcdef123", "sent bearer [redacted]"),
        "basic credentials": ("basic dXNlcjpwYXNz", "basic [redacted]"),
        "a secret key by its shape": ("Invalid key sk_live_EXAMPLE000", "Invalid key [redacted]"),
        "a key of a model provider": ("key sk-proj-abcdefgh12 refused", "key [redacted] refused"),
        "a key without a purpose but with digits": ("sk-abcdefghijklmnop1234", "[redacted]"),
        "a key behind a word": ("set_sk_live_EXAMPLE000", "set_[redacted]"),
        "a bearer token that is a plain word, in its header": ("Authorization: Bearer letmein", "Authorization: Bearer [redacted]"),
        "a GitHub token": ("ghp_abcdefgh1234", "[redacted]"),
        "a Slack token": ("xoxb-12345678-abc", "[redacted]"),
        "an AWS key": ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
        "a JSON web token": ("eyJhbGciOiJI.eyJzdWIi.c2ln", "[redacted]"),
        "a value after its key": ("password=hunter22 ok", "password=[redacted] ok"),
        "a value in JSON": ('{"api_key": "abc", "q": "x"}', '{"api_key": "[redacted]", "q": "x"}'),
        "a value in escaped JSON": ('{\\"api_key\\": \\"abc\\"}', '{\\"api_key\\": \\"[redacted]\\"}'),
        "a value in a query": ("https://h/p?token=abc&q=1", "https://h/p?token=[redacted]&q=1"),
        "a value in a header": ("x-api-key: abc", "x-api-key: [redacted]"),
        "user and password in an address": ("postgresql://me:pass@db/x", "postgresql://[redacted]@db/x"),
    },
)
def test_a_secret_in_a_text_is_masked(text: str, kept: str) -> None:
    assert suspicious(text)
    assert masked_text(text) == kept


@sentences(
    "text",
    {
        "a count of tokens": "total_tokens: 1234",
        "the name of a tokenizer": "tokenizer=cl100k",
        "an address without credentials": "https://example.com/a?b=c",
        "an address with a port": "http://host:4318/v1/traces",
        "plain words": "the basic idea of a task-based secretary",
        "a tool's name": "set_api_key",
        "a name that begins like a key": "pk_constraints_of_table",
        "an error that speaks of a scheme": "Basic authentication required.",
        "an example of something basic": "a basic example, bearer of news",
        "what is masked already": "api_key: [redacted]",
    },
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked_text(text) == text


@sentences(
    "key",
    {
        key: key
        for key in (
            "api_key", "apiKey", "API-KEY", "x-api-key", "password", "user.password", "db_passwd", "token", "access_token",
            "x-auth-token", "session token", "authorization", "Authorization", "cookie", "set-cookie", "client_secret", "secret",
            "credentials", "private_key", "http.request.header.authorization",
        )
    },
)  # fmt: skip
def test_a_secret_key(key: str) -> None:
    assert is_secret_key(key)


@sentences(
    "key",
    {
        str(key): key
        for key in (
            "total_tokens", "gen_ai.usage.input_tokens", "tokenizer", "session.id", "mcp.session.id", "gen_ai.conversation.id", "keyboard",
            "monkey", "secretary", "hash", "jsonrpc.request.id", "author", "", 7, None,
        )
    },
)  # fmt: skip
def test_no_secret_key(key: Any) -> None:
    assert not is_secret_key(key)


def test_values_are_masked_by_their_keys_at_any_depth() -> None:
    value = {"a": [{"password": "x", "n": 1}], "token": 123, "pin": None, "secret": {"inner": "kept, its keys are no secrets"}}
    assert masked(value) == {
        "a": [{"password": MASK, "n": 1}],
        "token": MASK,
        "pin": None,
        "secret": {"inner": "kept, its keys are no secrets"},
    }


def test_secrets_are_learned_from_values_under_secret_keys_the_longest_first() -> None:
    value = {"api_key": "12345678", "more": [{"password": "123456789"}], "token": "short", "q": "not a secret"}
    assert secrets_in(value) == ("123456789", "12345678")


def test_secrets_are_learned_only_from_values_that_a_person_could_have_nested() -> None:
    value: Any = {"password": "hunter2222"}
    for _ in range(15):
        value = [value]
    assert secrets_in(value) == ("hunter2222",)
    assert secrets_in([[value]]) == ()


def test_a_learned_secret_is_masked_wherever_it_stands() -> None:
    assert masked({"message": "bad key hunter2222!", "list": ["hunter2222"]}, ("hunter2222",)) == {
        "message": f"bad key {MASK}!",
        "list": [MASK],
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.sampled_from(["token", "api_key"]), inner, max_size=4),
    max_leaves=15,
)


@given(JSON)
def test_masking_never_raises_and_leaves_keys_and_shape(value: Any) -> None:
    found = masked(value, secrets_in(value))
    assert type(found) is type(value)
    if isinstance(value, dict):
        assert found.keys() == value.keys()
