#!/bin/sh
# Makes what is missing of a stack's secrets, each in a volume that only those who need it mount; what
# is there stays. Replace the certificate by one of a public authority, with the same names.
set -eu
cd /run/privet
umask 077

give() {  # give FILE OWNER: takes a secret from stdin, whole or not at all
    [ -s "$1" ] || { cat >"$1.new" && chown "$2" "$1.new" && mv "$1.new" "$1"; }
}
random() { python -c 'import secrets; print(secrets.token_urlsafe(32))'; }

for file in database/password relay-metrics/token; do  # read by users that other images choose
    [ -s $file ] || { random >$file.new && chmod 444 $file.new && mv $file.new $file; }
done
echo "database:5432:*:privet:$(cat database/password)" | give curator/pgpass 1000
random | give admin/token 1000
[ -s curator/signing.key ] || { privet key make curator/signing.key >/dev/null && chown 1000 curator/signing.key; }
if [ ! -s tls/certificate.pem ]; then
    names="DNS:proxy,DNS:localhost,IP:127.0.0.1"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj "/CN=Privet" \
        -addext "subjectAltName=$names${STACK_NAME:+,DNS:$STACK_NAME}" -keyout tls/key.pem -out tls/new.pem 2>/dev/null
    chown 1000 tls/key.pem tls/new.pem
    mv tls/new.pem tls/certificate.pem
fi
cp tls/certificate.pem trust/certificate.pem
chmod 444 trust/certificate.pem
chown 1000 admin curator relay reader tls
