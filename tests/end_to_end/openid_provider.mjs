// A real OpenID provider, oidc-provider from npm: node openid_provider.mjs PORT REDIRECT-URI SECRET
// Its own pages take any name and password; those that begin with "admin" are admins.
import { Provider } from "oidc-provider";

const [port, redirect, secret] = process.argv.slice(2);
const issuer = `http://localhost:${port}`;
const api = "urn:privet:api";
const roles = (subject) => (subject.startsWith("admin") ? ["privet-admin"] : []);

const provider = new Provider(issuer, {
  clients: [
    { client_id: "privet", client_secret: secret, redirect_uris: [redirect] },
    {
      client_id: "admin-program", client_secret: secret, redirect_uris: [], response_types: [],
      grant_types: ["client_credentials"],
    },
  ],
  claims: { openid: ["sub"], profile: ["name", "roles"] },
  cookies: { keys: [secret] },
  findAccount: (_, subject) => ({
    accountId: subject,
    claims: () => ({ sub: subject, name: `Dr ${subject}`, roles: roles(subject) }),
  }),
  extraTokenClaims: (_, token) => ({ roles: roles(token.accountId ?? token.clientId) }),
  features: {
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ scope: "", audience: api, accessTokenFormat: "jwt" }),
    },
  },
});
provider.listen(port, "localhost", () => console.log("listening"));
