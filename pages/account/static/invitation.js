// The token of an invitation is in the fragment of the address, which browsers do not send to a server.
const token = decodeURIComponent(location.hash.slice(1));
if (token) {
  document.getElementById("token").value = token;
  history.replaceState(null, "", location.pathname);
}
