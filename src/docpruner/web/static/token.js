// A field for the token, when the server asks for one that this tab does not have.

import { get, keepToken } from "./api.js";
import { $, sentence } from "./elements.js";

export function start(whenKnown) {
  addEventListener("tokenneeded", () => {
    if ($("token-dialog").open) return;
    $("token-problem").textContent = "";
    $("token-dialog").showModal();
  });
  $("token-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    keepToken($("token").value.trim());
    try {
      await get("api/stats");
      $("token").value = "";
      $("token-dialog").close();
      whenKnown();
    } catch (failure) {
      $("token-problem").textContent =
        failure.status === 401 ? "That isn't the right token." : sentence(failure.message);
      $("token").select();
    }
  });
}
