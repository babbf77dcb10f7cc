#!/bin/sh
# Starts Alertmanager with the addresses that .env names, which are secrets in most services.
set -eu
if [ -z "${PAGER_URL:-}" ]; then
    echo "Set PAGER_URL in .env: without it nobody is called." >&2
    exit 1
fi
printf %s "$PAGER_URL" >/tmp/page
printf %s "${TICKET_URL:-$PAGER_URL}" >/tmp/ticket
# with nobody to wait for it, the watchdog barks at Alertmanager itself
printf %s "${WATCHDOG_URL:-http://127.0.0.1:9093/-/healthy}" >/tmp/watchdog
exec alertmanager --config.file=/etc/alertmanager/alertmanager.yml --storage.path=/alertmanager --cluster.listen-address=
