// Makes each frame of the flame graphs a button that zooms to it; pressed again, to its caller. Without it the graphs are whole.
for (const flame of document.querySelectorAll(".flame")) {
  for (const frame of flame.querySelectorAll(".frame")) {
    const button = document.createElement("button");
    for (const { name, value } of frame.attributes) button.setAttribute(name, value);
    button.append(...frame.childNodes);
    frame.replaceWith(button);
    button.addEventListener("click", () => zoom(button.getAttribute("aria-pressed") === "true" ? above(button) : button));
  }
  const above = (button) => button.closest("ul").previousElementSibling;
  // Beside the frame and its callers nothing is shown, so that they have the whole width.
  const zoom = (button) => {
    flame.querySelectorAll(".aside").forEach((other) => other.classList.remove("aside"));
    flame.querySelectorAll("[aria-pressed]").forEach((other) => other.removeAttribute("aria-pressed"));
    if (!button?.matches(".flame .frame")) return;
    button.setAttribute("aria-pressed", "true");
    for (let item = button.closest("li"); item; item = item.parentElement.closest(".flame li")) {
      [...item.parentElement.children].filter((other) => other !== item).forEach((other) => other.classList.add("aside"));
    }
  };
}
