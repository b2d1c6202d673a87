// SPDX-License-Identifier: GPL-2.0
// The lab's dumbbell in ns-3: CUBIC flows through one bottleneck of 100 Mb/s; rtt 40 ms.
#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <chrono>
#include <cstdio>

using namespace ns3;

int main(int argc, char *argv[])
{
	uint32_t flows = 1;
	double seconds = 10, megabits = 100;
	CommandLine cmd;

	cmd.AddValue("flows", "how many", flows);
	cmd.AddValue("seconds", "of simulated time", seconds);
	cmd.AddValue("megabits", "a second, of the bottleneck", megabits);
	cmd.Parse(argc, argv);
	Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpCubic"));
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
	Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(16 << 20));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(16 << 20));

	NodeContainer routers(2), senders(flows), receivers(flows);
	PointToPointHelper core, edge;
	core.SetDeviceAttribute("DataRate", DataRateValue(DataRate(megabits * 1e6)));
	core.SetChannelAttribute("Delay", StringValue("19ms"));
	core.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("334p"));
	edge.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
	edge.SetChannelAttribute("Delay", StringValue("0.5ms"));
	edge.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
	InternetStackHelper stack;
	stack.InstallAll();
	Ipv4AddressHelper address("10.0.0.0", "255.255.255.252");
	NetDeviceContainer link = core.Install(routers);
	address.Assign(link);
	ApplicationContainer sinks;
	for (uint32_t i = 0; i < flows; i++) {
		address.NewNetwork();
		address.Assign(edge.Install(senders.Get(i), routers.Get(0)));
		address.NewNetwork();
		Ipv4InterfaceContainer far = address.Assign(edge.Install(routers.Get(1), receivers.Get(i)));
		BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(far.GetAddress(1), 9));
		ApplicationContainer sender = bulk.Install(senders.Get(i));
		sender.Start(Seconds(0.001 * i));
		PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
		sinks.Add(sink.Install(receivers.Get(i)));
	}
	TrafficControlHelper none;
	none.Uninstall(link);
	Ipv4GlobalRoutingHelper::PopulateRoutingTables();
	Simulator::Stop(Seconds(seconds));
	auto start = std::chrono::steady_clock::now();
	Simulator::Run();
	std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < flows; i++)
		bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
	printf("{\"flows\": %u, \"wall_s\": %.3f, \"packets\": %llu}\n", flows, wall.count(),
	       (unsigned long long)(bytes / 1448));
	Simulator::Destroy();
	return 0;
}
