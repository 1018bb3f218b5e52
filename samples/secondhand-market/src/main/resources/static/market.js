"use strict";
// Everything that comes from the server is put into the page as text, never as markup.

const byId = (id) => document.getElementById(id);

function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) {
        made.textContent = text;
    }
    if (className) {
        made.className = className;
    }
    return made;
}

function row(...cells) {
    const made = element("tr");
    for (const cell of cells) {
        const td = element("td");
        td.append(...[].concat(cell));
        made.append(td);
    }
    return made;
}

function button(label, action) {
    const made = element("button", label);
    made.type = "button";
    made.addEventListener("click", action);
    return made;
}

async function post(path, body) {
    try {
        const answer = await fetch(path, {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify(body ?? {}),
        });
        const result = await answer.json();
        byId("state").textContent = answer.ok ? "Done" : `${answer.status}: ${result.detail}`;
    } catch (error) {
        byId("state").textContent = `Not known whether it was done: ${error.message}`;
        return;
    }
    await show();
}

function product(one) {
    const buy = one.status === "on_sale"
        ? button("Buy", () => post("api/orders", { productId: one.id, buyerId: Number(byId("buyer").value) }))
        : "";
    return row(String(one.id), one.title, one.price.toFixed(2), element("span", one.status, `tag ${one.status}`), buy);
}

const STEPS = { pending: ["pay", "cancel"], paid: ["ship"], shipped: ["complete"], completed: [], cancelled: [] };

function event(one) {
    const line = element("span", undefined, "event");
    line.title = `${one.eventId} ${one.traceId}`;
    line.append(`${one.eventType} `, element("span", one.status, `tag ${one.status}`));
    if (one.retryCount > 0) {
        line.append(` after ${one.retryCount} failures`);
    }
    line.append(" → ", one.consumption
        ? element("span", one.consumption.consumer, "tag consumed")
        : element("span", "not yet consumed"));
    return line;
}

function order(one, events) {
    const status = one.cancelReason ? `${one.status} (${one.cancelReason})` : one.status;
    return row(
        `${one.id} · ${one.orderNo}`,
        String(one.productId),
        element("span", status, `tag ${one.status}`),
        events.filter((each) => each.orderId === one.id).map(event),
        STEPS[one.status].map((step) => button(step, () => post(`api/orders/${one.id}/${step}`))));
}

let shown = "";
let lost = true; // no answer yet, or none to the last poll

async function show() {
    try {
        const answer = await fetch("live");
        const text = await answer.text();
        if (!answer.ok) {
            throw new Error(`status ${answer.status}`);
        }
        if (lost) {
            lost = false;
            byId("state").textContent = "Live";
        }
        if (text === shown) {
            return; // buttons keep the focus
        }
        const live = JSON.parse(text);
        shown = text;
        byId("products").replaceChildren(...live.products.map(product));
        byId("orders").replaceChildren(...live.orders.map((one) => order(one, live.events)));
        byId("queues").replaceChildren(...Object.entries(live.queues).map(([name, messages]) =>
            row(name, element("span", String(messages), name === "order.dlq.queue" && messages > 0 ? "tag alarm" : ""))));
    } catch (error) {
        lost = true;
        byId("state").textContent = `The market does not answer: ${error.message}`;
    }
}

byId("offer").addEventListener("submit", (submitted) => {
    submitted.preventDefault();
    const form = new FormData(submitted.target);
    post("api/products", {
        title: form.get("title"),
        price: Number(form.get("price")),
        sellerId: Number(form.get("sellerId")),
    });
});
byId("replay").addEventListener("click", () => post("api/dlq/replay"));

async function live() {
    if (!document.hidden) {
        await show();
    }
    setTimeout(live, 1000);
}
live();
