# SPDX-License-Identifier: GPL-2.0
"""ACP's fluid model, Eqs. (19) and (20) of its paper: delay differential equations of one link.

    x'(t) = -ki/tau x(t - tau) - kq/tau^2 q(t - tau)
    q'(t) = x(t), but 0 where the queue is empty and x(t) < 0

x is the input rate above capacity, packets/s; q the queue, packets; tau the delay, s.

With time in delays and the queue in rate times delay, tau is gone from the equations; and what
solves them does so times any positive number.  So the angle in the plane of x and q/tau is all that
matters of where a trajectory starts, and half a circle has every start that there is.

What was before t = 0 the paper does not say.  A start here stands for a past in which x and q were
what they are at 0, which is what Matlab's dde23 takes; or a whole past is given.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

KI, KQ = 0.1587, 0.3175
STEPS = 50  # in a delay
DELAYS = 60  # after which a trajectory should have arrived

# The starts of Figs. 19 and 20: x, q, tau
PORTRAITS = {
    "start": [(x, 100, 1) for x in range(0, 101, 20)] + [(100, q, 1) for q in range(80, -1, -20)],
    "delay": [(100, 0, ms / 1000) for ms in range(100, 601, 100)],
}


def trajectories(
    x0: Any, q0: Any, tau: Any = 1.0, *, delays: int = DELAYS, steps: int = STEPS, ki: float = KI,
    kq: float = KQ, saturates: bool = True,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """x and q from t = 0, a row for each step, a column for each trajectory.

    x0 and q0 have a number for each; or its whole past, steps + 1 rows that end at t = 0.

    The step is a whole part of the delay, so that x' is known at both its ends, and the trapezoidal
    rule has no equation to solve.  Between them x is a straight line, along which the queue is
    followed exactly, down to zero and up from there.  The error falls with the square of the step.
    """
    x0, q0, tau = (np.asarray(value, float) for value in (x0, q0, tau))
    h = tau / steps
    shape = np.broadcast_shapes(x0.shape[-1:], q0.shape[-1:], tau.shape)
    x = np.empty((steps * (delays + 1) + 1, *shape))
    q = np.empty_like(x)
    x[: steps + 1], q[: steps + 1] = x0, q0
    for k in range(steps, len(x) - 1):
        then = slice(k - steps, k - steps + 2)
        slope = -ki / tau * x[then] - kq / tau**2 * q[then]
        a, b = x[k], x[k] + h / 2 * (slope[0] + slope[1])
        x[k + 1] = b
        if not saturates:
            q[k + 1] = q[k] + h / 2 * (a + b)
            continue
        # from below zero to above: first the queue falls, no further than to zero
        crosses = (a < 0) & (b > 0)
        share = np.where(crosses, -a / np.where(crosses, b - a, 1), 1)
        end = np.where(crosses, 0, b)
        fallen = np.maximum(0, q[k] + share * h / 2 * (a + end))
        q[k + 1] = fallen + (1 - share) * h / 2 * b
    return x[steps:], q[steps:]


def portrait(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The trajectories of a figure."""
    return trajectories(*np.array(PORTRAITS[name], float).T)


def dominant_root(ki: float = KI, kq: float = KQ) -> complex:
    """Of the model without saturation, per delay: s^2 + (ki s + kq) e^-s = 0, furthest right.

    By Newton's method from a grid.  A root with Re s >= 0 has |s|^2 <= ki |s| + kq, so that none is
    outside the grid.
    """
    re, im = np.meshgrid(np.linspace(-2, 1, 31), np.linspace(0, 4, 41))
    s = (re + 1j * im).ravel()
    with np.errstate(all="ignore"):  # some go far away
        for _ in range(50):
            decay = np.exp(-s)
            s -= (s * s + (ki * s + kq) * decay) / (2 * s + (ki - ki * s - kq) * decay)
        found = s[np.abs(s * s + (ki * s + kq) * np.exp(-s)) < 1e-12]
    return found[found.real.argmax()]


# Measures of findings ---------------------------------------------------------------------------


def _starts(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Every direction, from a rate below capacity without queue to one above."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, count)
    return np.sin(angle), np.cos(angle).round(15)


def _remaining(x: np.ndarray, q: np.ndarray, tau: Any = 1.0) -> float:
    """The largest distance from the origin after DELAYS, to the start's."""
    distance = np.hypot(x, q / tau)
    return (distance[DELAYS * STEPS :].max(axis=0) / distance[0]).max()


def _of_portrait(name: str) -> float:
    x, q = portrait(name)
    return _remaining(x, q, np.array(PORTRAITS[name])[:, 2])


def _of_starts() -> float:
    x, q = trajectories(*_starts(361))
    return _remaining(x, q)


def _of_pasts() -> float:
    """Pasts of ten levels at random, one after the other; and such in which there was nothing."""
    draw = np.random.default_rng(1)
    row = np.arange(STEPS + 1) * 10 // (STEPS + 1)
    x0, q0 = draw.uniform(-1, 1, (10, 1000))[row], draw.uniform(0, 1, (10, 1000))[row]
    for past, start in zip((x0, q0), _starts(200), strict=True):
        past[:-1, :200], past[-1, :200] = 0, start
    x, q = trajectories(x0, q0)
    largest = np.hypot(x0, q0).max(axis=0)
    return (np.hypot(x, q)[DELAYS * STEPS :] / largest).max()


def _queue_per_ms() -> float:
    """The least rise of the largest queue from one delay of Fig. 20 to the next."""
    _, q = portrait("delay")
    return (np.diff(q.max(axis=0)) / np.diff(np.array(PORTRAITS["delay"])[:, 2] * 1e3)).min()


def _scaling() -> float:
    """How far trajectories with delays from 10 ms to 10 s are from that with 1 s, once scaled."""
    sine, tau = np.meshgrid(np.linspace(-1, 1, 19), np.geomspace(0.01, 10, 31))
    sine, tau = sine.ravel(), tau.ravel()
    cosine = np.sqrt(1 - sine**2)
    x, q = trajectories(sine, cosine * tau, tau)
    one_x, one_q = trajectories(sine, cosine)
    return max(np.abs(x - one_x).max(), np.abs(q / tau - one_q).max())


def _queues() -> float:
    """The most queues that any start leads to, one after the other."""
    _, q = trajectories(*_starts(361))
    return ((q[0] > 0) + ((q[1:] > 0) & (q[:-1] == 0)).sum(axis=0)).max()


def _margin() -> float:
    """How many of the delays that the router reckons with the true one may be."""
    low, high = 1.0, 8.0
    while high - low > 0.01:
        many = (low + high) / 2
        x, q = trajectories(*_starts(19), delays=200, ki=KI * many, kq=KQ * many**2)
        distance = np.hypot(x, q)
        late, later = distance[-100 * STEPS : -50 * STEPS], distance[-50 * STEPS :]
        low, high = (many, high) if later.max() < late.max() else (low, many)
    return low


MEASURES: dict[str, Callable[[], float]] = {
    **{f"remaining:{name}": lambda name=name: _of_portrait(name) for name in PORTRAITS},
    "remaining:anywhere": _of_starts,
    "remaining:any_past": _of_pasts,
    "queue_per_ms": _queue_per_ms,
    "scaling": _scaling,
    "queues": _queues,
    "root": lambda: dominant_root().real,
    "margin": _margin,
}


@cache
def measure(name: str) -> float:
    return float(MEASURES[name]())
