# SPDX-License-Identifier: GPL-2.0
"""Fluid models of two papers: delay differential equations of one link.

ACP's, Eqs. (19) and (20) of its paper.

    x'(t) = -ki/tau x(t - tau) - kq/tau^2 q(t - tau)
    q'(t) = x(t), but 0 where the queue is empty and x(t) < 0

x is the input rate above capacity, packets/s; q the queue, packets; tau the delay, s.

With time in delays and the queue in rate times delay, tau is gone from the equations; and what
solves them does so times any positive number.  So the angle in the plane of x and q/tau is all that
matters of where a trajectory starts, and half a circle has every start that there is.

What was before t = 0 the paper does not say.  A start here stands for a past in which x and q were
what they are at 0, which is what Matlab's dde23 takes; or a whole past is given.

ACP's with its estimate of the number of users, Eqs. (1) and (11) to (18): what that is, and what
the law makes of it, change together.

    p'(t) = (ki/tau (C - y(t)) - kq/tau^2 q(t)) / M(t), from 0 to C;  y(t) = N p(t - tau)
    M'(t) = gamma/tau (y(t) - M(t) p(t)) p(t) / (1 + p(t)^2), at least 1

CCPD's, Section III of its paper: the queue of Eq. (1) and the rate of Eq. (2), with the Smith
predictor, which is the traffic in flight F(t), what was sent in the last round trip.

    x'(t) = u(t - Tff) + d(t), but 0 where the queue is empty and that is below 0
    u(t) = Kp (B - x(t - Tfb) - F(t)) + Kd d/dt (B - x(t - Tfb) - F(t)), at least 0

u is the sender's rate, d that of others less the capacity, B the buffer, Tff + Tfb the round trip.
With time in round trips and segments in bandwidth-delay products neither is left in the equations:
a path is B alone.  While the queue is not empty, x(t - Tfb) + F(t) is all that was ever sent less
what others let pass: the delays are gone from the loop, and (1 + Kd) u' = -Kp (u + d).
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


GAMMA = 0.1
CAPACITY = 1e7  # bytes/s, beside which the 1 of 1 + p^2 is nothing


def acp(
    before: Any, after: Any, *, delays: int = 300, steps: int = 50, gamma: float = GAMMA,
    estimate: str = "law", proportional: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """y / C, M and q / (C tau) after users that were before, and at rest, have become after.

    A row for each step, a column for each pair.  The estimate follows the law; or is y / p; or is
    kept.  Proportional action adds so much of what C - y changes by.
    """
    before, after = np.broadcast_arrays(np.asarray(before, float), np.asarray(after, float))
    h = 1 / steps
    p = np.empty((steps * (delays + 1) + 1, *before.shape))
    y, q, m = np.zeros_like(p), np.zeros_like(p), np.empty_like(p)
    p[: steps + 1], m[: steps + 1] = CAPACITY / before, before
    y[: steps + 1] = CAPACITY
    for k in range(steps, len(p) - 1):
        y[k] = after * p[k - steps]
        if estimate == "ratio":
            m[k] = np.maximum(y[k] / p[k], 1)
        slope = KI * (CAPACITY - y[k]) - KQ * q[k]
        slope += proportional * (y[k - 1] - y[k]) / h * (k > steps)
        p[k + 1] = np.clip(p[k] + h * slope / m[k], 1, CAPACITY)
        q[k + 1] = np.maximum(q[k] + h * (y[k] - CAPACITY), 0)
        moves = gamma * (y[k] - m[k] * p[k]) * p[k] / (1 + p[k] ** 2)
        m[k + 1] = np.maximum(m[k] + h * moves * (estimate == "law"), 1)
    y[-1] = after * p[-1 - steps]
    return y[steps:] / CAPACITY, m[steps:], q[steps:] / CAPACITY


def ccpd(
    kp: Any, kd: Any, buffer: Any, *, trips: int = 200, steps: int = 50, cross: float = 0.0,
    predicts: bool = True,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """u and x of CCPD's model from an empty path, a row for each step, a column for each sender.

    kp is in 1/round trip, buffer in bandwidth-delay products; half of a round trip is before the
    queue.  From the middle on others send the share cross of the capacity.  Without the predictor
    the traffic in flight is left out.

    The rate at the end of a step is part of the traffic in flight, so any gain may be used with any
    step.  The error falls with the step.
    """
    kp, kd, buffer = np.broadcast_arrays(*(np.asarray(v, float) for v in (kp, kd, buffer)))
    h, half = 1 / steps, steps // 2
    u = np.zeros((steps * (trips + 1) + 1, *kp.shape))
    x, slope = np.zeros_like(u), np.zeros_like(u)
    flight = np.zeros(kp.shape)
    for k in range(steps, len(u)):
        others = (cross if k >= len(u) // 2 else 0) - 1
        slope[k] = u[k - half] + others
        slope[k] = np.maximum(slope[k], -x[k - 1] / h)
        x[k] = x[k - 1] + h * slope[k]
        if predicts:
            flight += h * (u[k - 1] - u[k - steps])
            error = buffer - x[k - half] - flight
            change = u[k - steps] - slope[k - half]
            u[k] = (kp * error + kd * change) / (1 + kd + kp * h)
        else:
            u[k] = kp * (buffer - x[k - half]) - kd * slope[k - half]
        u[k] = np.maximum(u[k], 0)
    return u[steps:], x[steps:]


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


# Users that were there, and as many times those that are there then.  When there are many times
# as many at once p falls to nothing, and y / p says what nobody can be: there Eq. (8) has to pause.
_BEFORE, _TIMES = np.meshgrid([10, 20, 50, 200, 1000], [0.1, 0.2, 0.5, 0.9, 1.1, 1.25, 1.5])


@cache
def _acp(**options: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return acp(_BEFORE, _BEFORE * _TIMES, **options)


def _acp_rate() -> float:
    """How far from the capacity the input is in the end, at most."""
    return np.abs(_acp()[0][-1000:] - 1).max()


def _acp_flows() -> float:
    """How far from the number of users the estimate is in the end, at most."""
    return np.abs(_acp()[1][-1000:] / (_BEFORE * _TIMES) - 1).max()


def _theorem() -> float:
    """The error of the estimate to its bound, Eq. (15), at most, for any p above a least one."""
    draw, steps, worst = np.random.default_rng(1), 4000, 0.0
    for least in (0.1, 1, 10, 1e6):
        p = least * (1 + 9 * draw.random((steps, 50)) ** 3)
        users, m = draw.integers(1, 1000, 50), draw.uniform(1, 1000, 50)
        first, h = np.abs(m - users), 0.02
        for k in range(steps):
            # Eqs. (10) to (12), step by step: their solution, (15), is not used
            m = m + GAMMA * h * (users * p[k] - m * p[k]) * p[k] / (1 + p[k] ** 2)
            bound = first * np.exp(-GAMMA * least**2 / (1 + least**2) * h * (k + 1))
            worst = max(worst, (np.abs(m - users) / bound).max())
    return worst


def _acp_varies(users: float, estimate: str) -> float:
    """Ten users become so many: how much the input still varies in the end, of the capacity."""
    y, _, _ = acp(10, users, estimate=estimate)
    return np.ptp(y[-1000:])


def _acp_undershoot(proportional: float) -> float:
    """Ten users become fifteen: how far below the capacity the input comes after that."""
    y, _, _ = acp(10, 15, proportional=proportional)
    return 1 - y.min()


# Gains per round trip from 0.5 to 100 and paths whose buffer is larger than 1 + 1 / Kp.  What is
# off decays with (1 + Kd) / Kp round trips, at most 22: the 400 of a run are 18 of these.
_KP, _KD, _ROOM = np.meshgrid([0.5, 1, 2, 4, 10, 100], [0, 0.5, 2, 10], [0.1, 0.5, 2, 10])
_BUFFER = 1 + 1 / _KP + _ROOM


@cache
def _ccpd(cross: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    return ccpd(_KP, _KD, _BUFFER, trips=800 if cross else 400, cross=cross)


def _ccpd_off(cross: float = 0.0) -> float:
    """How far from what is left of the capacity the rate is in the end, at most."""
    u, _ = _ccpd(cross)
    return np.abs(u[-1000:] - (1 - cross)).max()


def _ccpd_level() -> float:
    """How far from B - 1 - 1/Kp the queue is in the end, at most, of the buffer."""
    _, x = _ccpd()
    return (np.abs(x[-1000:] - _ROOM) / _BUFFER).max()


def _ccpd_overflow(cross: float = 0.0) -> float:
    """What the queue had needed beyond the buffer, at most."""
    _, x = _ccpd(cross)
    return (x - _BUFFER).max()


def _ccpd_small() -> float:
    """With a buffer below 1 + 1/Kp: how far the rate is from Kp B / (1 + Kp), at most."""
    kp, share = np.meshgrid([0.5, 1, 2, 4, 10], [0.1, 0.3, 0.5, 0.9])
    u, _ = ccpd(kp, 0, share * (1 + 1 / kp))
    return np.abs(u[-1000:] - share).max()


def _ccpd_unpredicted() -> float:
    """Without the traffic in flight, Kp 2: how much the rate still varies, of the capacity."""
    u, _ = ccpd(2, 0, 10, predicts=False)
    return np.ptp(u[-1000:])


MEASURES: dict[str, Callable[[], float]] = {
    **{f"remaining:{name}": lambda name=name: _of_portrait(name) for name in PORTRAITS},
    "remaining:anywhere": _of_starts,
    "remaining:any_past": _of_pasts,
    "queue_per_ms": _queue_per_ms,
    "scaling": _scaling,
    "queues": _queues,
    "root": lambda: dominant_root().real,
    "margin": _margin,
    "acp:rate": _acp_rate,
    "acp:flows": _acp_flows,
    "acp:theorem": _theorem,
    "acp:law": lambda: _acp_varies(20, "law"),
    "acp:ratio": lambda: _acp_varies(20, "ratio"),
    "acp:wrong": lambda: _acp_varies(80, "kept"),
    "acp:undershoot": lambda: _acp_undershoot(0.0),
    "acp:undershoot_proportional": lambda: _acp_undershoot(0.3),
    "ccpd:off": _ccpd_off,
    "ccpd:off_beside_half": lambda: _ccpd_off(0.5),
    "ccpd:level": _ccpd_level,
    "ccpd:overflow": _ccpd_overflow,
    "ccpd:small_buffer": _ccpd_small,
    "ccpd:unpredicted": _ccpd_unpredicted,
}


@cache
def measure(name: str) -> float:
    return float(MEASURES[name]())
