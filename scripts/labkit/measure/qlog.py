# SPDX-License-Identifier: GPL-2.0
"""A run's flows as qlog 0.3 (draft-ietf-quic-qlog-main-schema-02), for qvis and other readers.

Each flow has a trace with an event recovery:metrics_updated for each sample, in bytes, milliseconds
and bits per second.  qvis takes the length of its time axis from sent packets.  So each sample also
has one transport:packet_sent, which stands for all bytes since the previous sample.
"""

import json
from pathlib import Path

import numpy as np

from ..model.settings import HEADERS
from .metrics import Json
from .series import series

# Of a flow's series: time, flow, window, in flight, rtt, least rtt, ssthresh, acked bytes
_COLUMNS = (0, 1, 2, 3, 4, 5, 6, 7, "pacing_bps")


def write(result: Json, path: Path) -> None:
    """Writes the qlog file of a run."""
    table = series(Path(result["series"]) / "flows.csv", _COLUMNS)
    segment = result["settings"]["mtu"] - HEADERS[result["settings"]["ip"]]
    traces = [
        _trace(f"flow {k} of {flow['cc']}", table[table[:, 1] == k], segment)
        for k, flow in enumerate(result["flows"])
    ]
    title = " ".join(str(result[k]) for k in ("scenario", "cc", "case", "seed") if k in result)
    made = {"qlog_version": "0.3", "qlog_format": "JSON", "title": title,
            "description": __doc__.partition("\n\n")[2].replace("\n", " ").strip(),
            "traces": traces}  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(made) + "\n")


def _trace(title: str, rows: np.ndarray, segment: int) -> Json:
    events = []
    sent = 0.0
    for number, row in enumerate(rows):
        time_s, _, cwnd, in_flight, rtt_s, min_rtt_s, ssthresh, acked, pacing_bps = row
        time = round(float(time_s) * 1e3, 6)
        now = acked + in_flight * segment
        if now > sent:
            events.append({"time": time, "name": "transport:packet_sent", "data": {
                "header": {"packet_type": "1RTT", "packet_number": number},
                "raw": {"length": int(now - sent)}}})  # fmt: skip
            sent = now
        data = {
            "congestion_window": cwnd * segment, "bytes_in_flight": in_flight * segment,
            "smoothed_rtt": rtt_s * 1e3, "min_rtt": min_rtt_s * 1e3,
            "ssthresh": ssthresh * segment, "pacing_rate": pacing_bps,
        }  # fmt: skip
        known = {k: round(float(v), 6) for k, v in data.items() if not np.isnan(v)}
        events.append({"time": time, "name": "recovery:metrics_updated", "data": known})
    return {
        "title": title,
        "vantage_point": {"name": "sender", "type": "server"},
        "common_fields": {"time_format": "relative", "reference_time": 0, "protocol_type": ["TCP"]},
        "events": events,
    }
