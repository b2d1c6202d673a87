# SPDX-License-Identifier: GPL-2.0
"""Fluid models of ACP and CCPD: the integrators against known solutions."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from labkit.model.fluid import KI, KQ, acp, ccpd, dominant_root, trajectories


def by_hand(x0: float, q0: float, tau: float, delays: int) -> list[tuple[Polynomial, Polynomial]]:
    """x and q in each delay, as polynomials of the time in it, while the queue is not empty."""
    pieces = [(Polynomial([x0]), Polynomial([q0]))]
    for _ in range(delays):
        x, q = pieces[-1]
        start = (x(tau), q(tau)) if len(pieces) > 1 else (x0, q0)
        x = start[0] - (KI / tau * x + KQ / tau**2 * q).integ()
        pieces.append((x, start[1] + x.integ()))
    return pieces[1:]


def error(steps: int, x0: float, q0: float, tau: float) -> float:
    """The largest error in the first two delays, before the queue is empty."""
    x, q = trajectories([x0], [q0], tau, delays=2, steps=steps)
    t = np.linspace(0, tau, steps + 1)
    return max(
        np.abs(got[n * steps : (n + 1) * steps + 1, 0] - want(t)).max()
        for n, piece in enumerate(by_hand(x0, q0, tau, 2))
        for got, want in zip((x, q), piece, strict=True)
    )


@pytest.mark.parametrize(("x0", "q0", "tau"), [(100, 0, 1), (60, 10, 0.2), (-10, 400, 5)])
def test_before_the_queue_is_empty(x0, q0, tau) -> None:
    """The result is that of by_hand(), and the error falls with the square of the step."""
    errors = [error(steps, x0, q0, tau) for steps in (20, 40, 80)]
    assert errors[0] < 1e-4 * np.hypot(x0, q0)
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.02)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.02)


@pytest.mark.parametrize("steps", [1, 3, 10])
def test_empty_queue(steps) -> None:
    """If x is a straight line, q has no error, wherever in a step the queue begins or ends."""
    t = np.arange(4 * steps + 1) / steps
    _, q = trajectories([-2.0], [3.0], delays=4, steps=steps, ki=0, kq=0)
    assert q[:, 0] == pytest.approx(np.maximum(0, 3 - 2 * t))
    for q0, least in ((0, 0), (0.1, 0), (0.25, 0), (1, 0.75)):  # x = 2t - 1 in the first delay
        _, q = trajectories([-1.0], [q0], delays=1, steps=steps, ki=2, kq=0)
        assert q[-1, 0] == pytest.approx(least + 0.25)


def test_past() -> None:
    """The first half of the past is zero: x keeps its value for half a delay."""
    past = np.array([0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8.0])[:, None]
    x, q = trajectories(past, np.zeros_like(past), delays=1, steps=10)
    assert (x[:5, 0] == 8).all() and x[6, 0] < 8
    assert q[4, 0] == pytest.approx(8 * 0.4)


def test_dominant_root() -> None:
    root = dominant_root()
    assert abs(root**2 + (KI * root + KQ) * np.exp(-root)) < 1e-12
    # XCP's gains, which are stable; and a delayed integrator, which is stable for gains up to pi/2
    assert dominant_root(0.4, 0.226).real < 0
    assert dominant_root(np.pi / 2 - 0.01, 1e-6).real < 0 < dominant_root(np.pi / 2 + 0.01, 0).real
    # without saturation, only the term of this root remains in the end
    x, _ = trajectories([1.0], [0.0], saturates=False, delays=60, steps=100)
    a, b, c = x[[-401, -201, -1], 0]
    turn = np.exp(2 * root)
    assert c - 2 * turn.real * b + abs(turn) ** 2 * a == pytest.approx(0, abs=1e-3 * abs(b))


def test_ccpd_has_no_delay_in_its_loop() -> None:
    """Others take half of the capacity: the derivative part acts at once, and the rest decays."""
    kp, kd, steps = 2.0, 3.0, 400
    u, _ = ccpd(np.array([kp]), kd, 10, trips=60, steps=steps, cross=0.5)
    start = (steps * 61 + 1) // 2 - steps + steps // 2  # when the sender learns of it
    for trips in (0.5, 1, 2, 5):
        want = 0.5 + 0.5 / (1 + kd) * np.exp(-kp * trips / (1 + kd))
        assert u[start + int(trips * steps), 0] == pytest.approx(want, abs=0.005)


def test_ccpd_by_its_delays() -> None:
    """In the first half round trip no feedback arrives: the loop has only the traffic in flight."""
    steps = 1000
    u, x = ccpd(np.array([1.5]), 0, 4, trips=2, steps=steps)
    t = np.arange(0, 0.5, 0.1)
    assert u[(t * steps).astype(int), 0] == pytest.approx(1.5 * 4 * np.exp(-1.5 * t), rel=0.005)
    assert not x[: steps // 2].any()


def test_acp_with_a_number_that_is_kept() -> None:
    """With 20 % more users than the law knows, it behaves as with gains that are 20 % larger."""
    steps = 1000
    past = np.zeros((steps + 1, 1))
    past[-1] = 0.2
    x, q = trajectories(past, np.zeros_like(past), delays=8, steps=steps, ki=1.2 * KI, kq=1.2 * KQ)
    y, m, queue = acp([10.0], 12, delays=8, steps=steps, estimate="kept")
    assert y - 1 == pytest.approx(x, abs=0.002)
    assert queue == pytest.approx(q, abs=0.002)
    assert (m == 10).all()
