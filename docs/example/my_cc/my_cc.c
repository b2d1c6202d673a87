// SPDX-License-Identifier: GPL-2.0
/*
 * my_cc: keeps a few packets in the queue, and reacts to losses like Reno.
 *
 * At the first ACK of each round trip it estimates how many of its packets are in the queue, from
 * the rtt beyond the least rtt:
 *
 *	queue = cwnd * (rtt - rtt_min) / rtt
 * Then it changes the window by one packet, so that the queue moves towards "target" packets.  At
 * the end of slow start it reduces the window by the whole excess of the queue over the target.
 */
#include <linux/module.h>
#include <net/tcp.h>

static unsigned int target = 5;
module_param(target, uint, 0644);
MODULE_PARM_DESC(target, "packets in the queue");

struct my_cc {
	u32 rtt_min_us;		/* least rtt ever seen */
	u32 rtt_us;		/* latest rtt */
	u32 round_end;		/* snd_nxt when this round trip began */
};

static void my_cc_init(struct sock *sk)
{
	*(struct my_cc *)inet_csk_ca(sk) = (struct my_cc) {
		.rtt_min_us = U32_MAX, .round_end = tcp_sk(sk)->snd_nxt,
	};
}

static void my_cc_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct my_cc *my = inet_csk_ca(sk);

	if (sample->rtt_us > 0) {
		my->rtt_us = sample->rtt_us;
		my->rtt_min_us = min(my->rtt_min_us, my->rtt_us);
	}
}

static void my_cc_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct my_cc *my = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp), queue;

	if (!after(ack, my->round_end) || !my->rtt_us) {
		if (tcp_in_slow_start(tp))
			tcp_slow_start(tp, acked);
		return;
	}
	queue = div_u64((u64)cwnd * (my->rtt_us - my->rtt_min_us), my->rtt_us);
	if (queue > target) {
		cwnd -= tcp_in_slow_start(tp) ? queue - target : 1;
		tp->snd_ssthresh = max(cwnd, 2U);
		tcp_snd_cwnd_set(tp, tp->snd_ssthresh);
	} else if (!tcp_in_slow_start(tp) && tcp_is_cwnd_limited(sk)) {
		tcp_snd_cwnd_set(tp, cwnd + 1);
	}
	my->round_end = tp->snd_nxt;
}

static struct tcp_congestion_ops my_cc __read_mostly = {
	.name = "my_cc", .owner = THIS_MODULE, .init = my_cc_init,
	.pkts_acked = my_cc_pkts_acked, .cong_avoid = my_cc_cong_avoid,
	.ssthresh = tcp_reno_ssthresh, .undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init my_cc_register(void)
{
	BUILD_BUG_ON(sizeof(struct my_cc) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&my_cc);
}

static void __exit my_cc_unregister(void)
{
	tcp_unregister_congestion_control(&my_cc);
}

module_init(my_cc_register);
module_exit(my_cc_unregister);
MODULE_DESCRIPTION("A few packets in the queue");
MODULE_LICENSE("GPL");
