// Search by a picture: one that is dropped on the search page, or chosen.

import { Failure, send, stats } from "./api.js";
import { $, el } from "./elements.js";

const LOST = "The picture is no longer here. Drop it again, or choose it";

let picture = null; // the file that was given last
let preview = ""; // its address in this tab

/** `whenGiven` is told the name of a picture that is to be searched by. */
export function start(whenGiven) {
  const take = (file) => {
    if (!file) return;
    picture = file;
    URL.revokeObjectURL(preview);
    preview = URL.createObjectURL(file);
    whenGiven(file.name);
  };
  $("choose-picture").addEventListener("click", () => $("picture").click());
  $("picture").addEventListener("change", () => {
    take($("picture").files[0]);
    $("picture").value = "";
  });
  const zone = $("view-search");
  for (const kind of ["dragenter", "dragover"])
    zone.addEventListener(kind, (event) => hover(event, holdsFiles(event)));
  zone.addEventListener(
    "dragleave",
    (event) => zone.contains(event.relatedTarget) || hover(event, false),
  );
  zone.addEventListener("drop", (event) => {
    hover(event, false);
    take(event.dataTransfer.files[0]);
  });
}

const holdsFiles = ({ dataTransfer }) => [...dataTransfer.types].includes("Files");

function hover(event, over) {
  event.preventDefault();
  $("search-form").classList.toggle("over", over);
}

/** Offers it where the encoder looks at pictures; dropping one elsewhere says why not. */
export const offer = () =>
  stats().then(
    ({ searches_pictures: can }) => ($("by-picture").hidden = !can),
    () => {}, // the view tells it
  );

/** Shows the picture that is searched by; an empty name shows none. */
export function showPicture(name) {
  $("picture-asked").hidden = !name;
  const image = picture?.name === name ? el("img", { src: preview, alt: "" }) : null;
  $("picture-shown").replaceChildren(...[image, name].filter(Boolean));
}

/** What the server finds like it. */
export async function pagesLike({ picture: name, ...query }, signal) {
  if (picture?.name !== name) throw new Failure("lost", LOST);
  return send("api/search/image", picture, query, signal);
}
