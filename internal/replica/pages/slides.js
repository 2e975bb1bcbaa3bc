// What a participant presents: a slide with a frame at its edges, so that a picture shows
// whether it was cut off.

const width = 1280, height = 720;
let shown = 0;

// turn shows a slide of the conversation.
export function turn(number) { shown = number; }

// slides returns the stream of a presentation: of slides of the conversation, or of numbers for 0.
export function slides(number) {
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d");
  const stream = canvas.captureStream(5);
  let page = 0;
  shown = number;
  const draw = () => {
    if (shown > 0) {
      context.fillStyle = "#fbf7ef";
      context.fillRect(0, 0, width, height);
      (shown === 1 ? plan : people)(context, page++);
      return;
    }
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

function heading(context, text) {
  context.fillStyle = "#1f7a78";
  context.fillRect(90, 96, 12, 76);
  context.fillStyle = "#22303c";
  context.font = "bold 64px sans-serif";
  context.textAlign = "left";
  context.fillText(text, 126, 156);
}

// plan is the first slide: days on a line.
function plan(context, page) {
  heading(context, "Launch plan");
  context.fillStyle = "#d8d2c4";
  context.fillRect(150, 396, 980, 8);
  const days = [["Mon", "Photos", "#d79b26"], ["Tue", "Prices", "#b4552a"], ["Wed", "Message", "#2c3e5c"], ["Thu, June 3", "Launch", "#1f7a78"]];
  days.forEach(([day, what, color], i) => {
    const x = 200 + i * 290;
    context.fillStyle = color;
    context.beginPath();
    context.arc(x, 400, i === 3 ? 34 + 3 * (page % 2) : 26, 0, 7);
    context.fill();
    context.textAlign = "center";
    context.font = "bold 38px sans-serif";
    context.fillText(what, x, 490);
    context.fillStyle = "#6a7076";
    context.font = "30px sans-serif";
    context.fillText(day, x, 346);
  });
}

// people is the second slide: who does what.
function people(context, page) {
  heading(context, "Who does what");
  [["Ben", "sends the photos", 0.9], ["Callum", "finishes the price list", 0.6], ["Callum", "writes to our customers", 0.25]].forEach(([name, what, done], i) => {
    const y = 270 + i * 130;
    context.textAlign = "left";
    context.fillStyle = "#22303c";
    context.font = "bold 40px sans-serif";
    context.fillText(name, 126, y);
    context.font = "40px sans-serif";
    context.fillText(what, 310, y);
    context.fillStyle = "#e6dfd0";
    context.fillRect(126, y + 24, 1020, 22);
    context.fillStyle = ["#1f7a78", "#d79b26", "#b4552a"][i];
    context.fillRect(126, y + 24, 1020 * done + (page % 2), 22);
  });
}
