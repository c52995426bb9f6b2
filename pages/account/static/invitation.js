// The token of an invitation is in the fragment of the address, which browsers do not send to a server.
const token = decodeURIComponent(location.hash.slice(1));
const field = document.getElementById("token");
if (token) {
  field.value = token;
  history.replaceState(null, "", location.pathname);
}
if (field.value) {
  const reply = await fetch(`${location.pathname}/name`, { method: "POST", body: new URLSearchParams({ token: field.value }) });
  const text = await reply.text();
  const line = document.getElementById("account");
  line.textContent = reply.ok ? line.dataset.text.replace("{name}", () => text) : text;
}
