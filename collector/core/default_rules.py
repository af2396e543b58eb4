"""The rules that are on from the first start, as the file that `toolvitals rules init` writes."""

DEFAULTS = """\
# Rules of toolvitals. Each [rules.NAME] is one; what is left out has the value shown here. Check this file after a change:
#   toolvitals rules check FILE
#   toolvitals rules test FILE --from 7d
# All rules know: kind, severity (info, warn, ticket, page), for, keep_firing_for (times such as 90s, 10m, 2h), servers and tools
# (lists of names, with * for any text), labels (a table), runbook_url. docs/alerting.md explains every kind.

# Environments that are watched.
environments = ["*"]
# What is still firing is told again after this time, unless somebody acknowledged it.
repeat = "4h"

# Retries that feed on themselves. Warns when at least 10 % of the attempts of 5 minutes are retries, pages from 20 % on.
[rules.retry_storm]
kind = "storm"
severity = "page"         # the most urgent that it may become
for = "15s"               # true twice in a row
keep_firing_for = "10m"
retries = 10
warn = 0.10
page = 0.20
chance = 1e-4
sessions = 5

# One session that does the same again and again. The first limit makes the alert pending, the second fires it.
[rules.loop]
kind = "loop"
severity = "ticket"
for = "0s"
keep_firing_for = "5m"
warn = 3
alert = 6
read_only_times = 5       # good answers of tools that only read: so many times the limits
read_only = ["get_*", "list_*", "search_*", "read_*", "fetch_*", "find_*", "query_*"]

# Operations that fail faster than the service level allows.
[rules.burn_rate]
kind = "burn"
severity = "page"
for = "0s"
keep_firing_for = "5m"
slo = 0.99
charged = ["transient", "unclassified"]   # the other categories are the caller's doing
# slo_of = { "orders-mcp/get_order" = 0.999 }

# Known empty answers against the tool's own last 7 days.
[rules.empty_rise]
kind = "empty_rise"
severity = "ticket"
for = "5m"
keep_firing_for = "15m"
points = 0.10
calls = 50

# Attempts fail more often, operations do not: retries hide it.
[rules.hidden_failures]
kind = "hidden_failures"
severity = "info"
for = "5m"
keep_firing_for = "15m"
points = 0.05
calls = 50

# Tools that may report failures as empty answers, as the hourly look for them says (docs/suppression.md). Never a page.
[rules.suspects]
kind = "suspects"
severity = "ticket"
for = "0s"
keep_firing_for = "0s"
least = "probable"        # possible: one signal; probable: two kinds of them; confirmed: failed spans inside empty answers

# A tool that is called at this hour every week, or a server that sent all the time, is not heard of.
[rules.silence]
kind = "silence"
severity = "ticket"
for = "0s"
keep_firing_for = "0s"

# Alerts of a server have had no data for 15 minutes.
[rules.telemetry_missing]
kind = "telemetry_missing"
severity = "ticket"
for = "0s"
keep_firing_for = "0s"

# A threshold of your own:
# [rules.checkout_failures]
# kind = "custom"
# severity = "ticket"
# when = "ratio(outcome=failure, category=transient|unclassified) over 15m > 20% and calls >= 20"
# recover = 0.15          # over only below this
# for = "5m"
# keep_firing_for = "10m"
# servers = ["shop-*"]
# labels = { team = "checkout" }
# runbook_url = "https://wiki.example/checkout"

# Where alerts are told: as many as you like; `least` is the least severity that a channel wants. What is secret may come from a
# variable: url_env = "NAME" instead of url.
# [channels.hook]
# kind = "webhook"                  # the body is that of Alertmanager's webhooks, version 4
# url = "https://hooks.example/toolvitals"
# secret_env = "HOOK_SECRET"        # signs the body: X-Toolvitals-Signature, sha256
# least = "ticket"
#
# [channels.alertmanager]
# kind = "alertmanager"
# url = "http://alertmanager:9093"
#
# [channels.oncall]
# kind = "pagerduty"
# routing_key_env = "PAGERDUTY_KEY"
# least = "page"
#
# [channels.chat]
# kind = "apprise"                  # Slack, Teams, mail, ntfy, …: https://github.com/caronc/apprise/wiki
# url_env = "CHAT_URL"
"""
