// What a participant presents: a slide with a frame at its edges, so that a picture shows
// whether it was cut off.

const width = 1280, height = 720;

// slides returns the stream of a presentation.
export function slides() {
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d");
  const stream = canvas.captureStream(5);
  let page = 0;
  const draw = () => {
    page++;
    context.fillStyle = "#00a0ff";
    context.fillRect(0, 0, width, height);
    context.fillStyle = "#fff8e0";
    context.fillRect(16, 16, width - 32, height - 32);
    context.fillStyle = "#202020";
    context.font = "bold 72px sans-serif";
    context.fillText("Quarterly numbers", 90, 180);
    context.font = "40px sans-serif";
    ["Revenue", "Costs", "Margin"].forEach((word, i) => {
      context.fillText(word, 90, 300 + i * 90);
      context.fillRect(340, 270 + i * 90, 200 + ((page * 7 + i * 150) % 500), 36);
    });
  };
  draw();
  setInterval(draw, 500); // for as long as the page lives
  return stream;
}
