//! Published distributions of flow sizes, in bytes.
//!
//! Five long tables are thinned to knots that keep every share within 0.005, the mean by the linear convention within
//! 0.1% and by the step convention within 1.1% of the whole table; the others are whole.

use super::{Cdf, Convention};

/// Published distribution.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Name, as users write it.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// Publication, and the tabulation that is used here.
    pub source: &'static str,
    csv: &'static str,
}

impl Published {
    /// Finds the table with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        PUBLISHED.iter().find(|table| table.name == name)
    }

    /// Distribution of the table.
    ///
    /// # Panics
    /// Never panics: the tests read every table.
    #[must_use]
    pub fn cdf(&self, convention: Convention) -> Cdf {
        Cdf::read(self.csv.as_bytes(), self.name, convention).expect("published tables are valid")
    }
}

/// Makes a table from its name, its file, its summary and its source.
macro_rules! table {
    ($name:literal, $file:literal, $summary:literal, $source:literal) => {
        Published {
            name: $name,
            summary: $summary,
            source: $source,
            csv: include_str!(concat!("tables/", $file, ".csv")),
        }
    };
}

/// All tables, by kind of service.
pub const PUBLISHED: [Published; 18] = [
    table!(
        "web-search",
        "web_search",
        "web search, as the load-balancing literature draws it",
        "Alizadeh et al., DCTCP, SIGCOMM 2010, Figure 4; knots of HKUST-SING/TrafficGenerator conf/DCTCP_CDF.txt"
    ),
    table!(
        "web-search-opera",
        "web_search_opera",
        "web search, read from the figure a second time",
        "Alizadeh et al., DCTCP, SIGCOMM 2010, Figure 4; knots of TritonNetworking/opera-sim websearch.csv"
    ),
    table!(
        "web-search-pfabric",
        "web_search_pfabric",
        "web search in packets of 1,460 bytes",
        "Alizadeh et al., pFabric, SIGCOMM 2013; knots of NetSys/simulator py/CDF_dctcp.txt"
    ),
    table!(
        "data-mining",
        "data_mining",
        "data mining, as the load-balancing literature draws it",
        "Greenberg et al., VL2, SIGCOMM 2009, Figure 2; knots of HKUST-SING/TrafficGenerator conf/VL2_CDF.txt"
    ),
    table!(
        "data-mining-opera",
        "data_mining_opera",
        "data mining, read from the figure a second time",
        "Greenberg et al., VL2, SIGCOMM 2009, Figure 2; knots of TritonNetworking/opera-sim datamining.csv"
    ),
    table!(
        "data-mining-pfabric",
        "data_mining_pfabric",
        "data mining in packets of 1,460 bytes",
        "Alizadeh et al., pFabric, SIGCOMM 2013; knots of NetSys/simulator py/CDF_datamining.txt"
    ),
    table!(
        "facebook-cache",
        "facebook_cache",
        "Facebook's cache, as the flowcell literature draws it",
        "Roy et al., SIGCOMM 2015; knots of HKUST-SING/TrafficGenerator conf/FB_CDF.txt, which has no unit, read as kB"
    ),
    table!(
        "facebook-cache-follower",
        "facebook_cache_follower",
        "Facebook's cache followers inside a cluster (thinned)",
        "Roy et al., SIGCOMM 2015; PlatformLab/HomaSimulation Facebook_CacheFollowerDist_IntraCluster.txt"
    ),
    table!(
        "facebook-web-server",
        "facebook_web_server",
        "Facebook's web servers inside a cluster (thinned)",
        "Roy et al., SIGCOMM 2015; PlatformLab/HomaSimulation Facebook_WebServerDist_IntraCluster.txt"
    ),
    table!(
        "facebook-hadoop",
        "facebook_hadoop",
        "Facebook's Hadoop, all traffic (Homa W4)",
        "Roy et al., SIGCOMM 2015; knots of PlatformLab/HomaSimulation Facebook_HadoopDist_All.txt"
    ),
    table!(
        "facebook-hadoop-hpcc",
        "facebook_hadoop_hpcc",
        "Facebook's Hadoop, all traffic, in 20 knots",
        "Roy et al., SIGCOMM 2015; knots of alibaba-edu/HPCC traffic_gen/FbHdp_distribution.txt"
    ),
    table!(
        "facebook-hadoop-inter-rack",
        "facebook_hadoop_inter_rack",
        "Facebook's Hadoop, traffic between racks only: another shape altogether",
        "Roy et al., SIGCOMM 2015; knots of TritonNetworking/opera-sim FB_Hadoop_Inter_Rack_FlowCDF.csv"
    ),
    table!(
        "facebook-key-value",
        "facebook_key_value",
        "Facebook's memcached values (Homa W1; thinned)",
        "Atikoglu et al., SIGMETRICS 2012; PlatformLab/HomaSimulation FacebookKeyValue_Sampled.txt"
    ),
    table!(
        "google-search-rpc",
        "google_search_rpc",
        "remote procedure calls of Google's search (Homa W2; thinned)",
        "Montazeri et al., Homa, SIGCOMM 2018; PlatformLab/HomaSimulation Google_SearchRPC.txt"
    ),
    table!(
        "google-all-rpc",
        "google_all_rpc",
        "remote procedure calls of a Google datacenter (Homa W3; thinned)",
        "Montazeri et al., Homa, SIGCOMM 2018; PlatformLab/HomaSimulation Google_AllRPC.txt"
    ),
    table!(
        "alibaba-storage-2019",
        "alibaba_storage_2019",
        "Alibaba's storage",
        "Li et al., HPCC, SIGCOMM 2019; knots of alibaba-edu/HPCC traffic_gen/AliStorage2019.txt"
    ),
    table!(
        "alibaba-solar-2022",
        "alibaba_solar_2022",
        "remote procedure calls of Alibaba's block storage",
        "Miao et al., From Luna to Solar, SIGCOMM 2022; knots of conweave-project/conweave-ns3 Solar2022.txt"
    ),
    table!(
        "twitter-cache",
        "twitter_cache",
        "Twitter's caches: means of 53 clusters weighted by requests, a surrogate without the variance inside a cluster",
        "Yang et al., OSDI 2020; derived from twitter/cache-trace stat/2020Mar.md (CC BY 4.0)"
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// Means in bytes by the linear and the step convention, of the tables as published (whole, not thinned), computed
    /// by another program.
    const MEANS: [(&str, f64, f64); 18] = [
        ("web-search", 1_711_250.0, 2_434_900.0),
        ("web-search-opera", 1_490_033.0, 1_875_928.0),
        ("web-search-pfabric", 1_665_831.0, 2_369_492.0),
        ("data-mining", 12_658_199.0, 23_199_799.0),
        ("data-mining-opera", 5_036_535.0, 7_861_995.0),
        ("data-mining-pfabric", 7_470_236.0, 13_821_966.0),
        ("facebook-cache", 342_235.0, 456_902.0),
        ("facebook-cache-follower", 686_866.0, 692_976.0),
        ("facebook-web-server", 62_229.0, 62_874.0),
        ("facebook-hadoop", 121_849.0, 127_797.0),
        ("facebook-hadoop-hpcc", 120_421.0, 183_897.0),
        ("facebook-hadoop-inter-rack", 3_423_728.0, 4_865_996.0),
        ("facebook-key-value", 184.6, 187.5),
        ("google-search-rpc", 423.4, 440.8),
        ("google-all-rpc", 2_890.3, 2_927.4),
        ("alibaba-storage-2019", 40_869.8, 67_050.0),
        ("alibaba-solar-2022", 39_423.5, 47_103.8),
        ("twitter-cache", 698.8, 799.8),
    ];

    #[test]
    fn means_are_the_published_ones() {
        for (name, linear, step) in MEANS {
            let table = Published::named(name).unwrap();
            let thinned = table.summary.contains("thinned");
            let (linear_within, step_within) = if thinned { (0.001, 0.011) } else { (2e-4, 2e-4) };
            for (convention, published, within) in
                [(Convention::Linear, linear, linear_within), (Convention::Step, step, step_within)]
            {
                let mean = table.cdf(convention).mean_bytes();
                assert!((mean / published - 1.0).abs() < within, "{name} {}: {mean}", convention.name());
            }
        }
        assert!(PUBLISHED.iter().all(|table| MEANS.iter().any(|mean| mean.0 == table.name)));
    }

    /// Compares with the published median in bytes, and with shares of flows up to 100 kB and above 1 MB.
    #[test]
    fn quantiles_are_the_published_ones() {
        for (name, median, up_to_100_kb, above_1_mb) in [
            ("web-search", 73e3, 0.542, 0.300),
            ("web-search-opera", 67e3, 0.546, 0.273),
            ("web-search-pfabric", 71e3, 0.544, 0.297),
            ("data-mining", 1.1e3, 0.823, 0.089),
            ("data-mining-opera", 1.0e3, 0.874, 0.079),
            ("facebook-cache", 75e3, 0.536, 0.035),
            ("facebook-cache-follower", 28e3, 0.533, 0.282),
            ("facebook-web-server", 3.4e3, 0.815, 0.000),
            ("facebook-hadoop", 655.0, 0.887, 0.027),
            ("facebook-hadoop-hpcc", 700.0, 0.885, 0.025),
            ("facebook-hadoop-inter-rack", 73e3, 0.660, 0.040),
            ("facebook-key-value", 27.0, 1.0, 0.0),
            ("google-search-rpc", 267.0, 1.0, 0.0),
            ("google-all-rpc", 257.0, 0.996, 3e-4),
            ("alibaba-storage-2019", 6.3e3, 0.954, 0.014),
            ("alibaba-solar-2022", 16.384e3, 0.959, 0.0),
        ] {
            let cdf = Published::named(name).unwrap().cdf(Convention::Linear);
            let quantile = cdf.quantile_bytes(0.5);
            assert!((quantile / median - 1.0).abs() < 0.03, "{name}: median {quantile}");
            assert!((cdf.share(1e5) - up_to_100_kb).abs() < 0.006, "{name}: {}", cdf.share(1e5));
            assert!((1.0 - cdf.share(1e6) - above_1_mb).abs() < 0.006, "{name}: {}", 1.0 - cdf.share(1e6));
        }
    }

    /// Compares with statements of load-balancing papers on their own workloads: 90% of cache flows within six
    /// flowcells of 64 KiB (Luopan), 80% of data-mining flows below 10 kB (Wino), fewer than 5% above 35 MB (TDLB).
    #[test]
    fn statements_of_papers_hold() {
        let cdf = |name| Published::named(name).unwrap().cdf(Convention::Linear);
        assert!((cdf("facebook-cache").share(6.0 * 65_536.0) - 0.904).abs() < 0.001);
        assert!((cdf("data-mining").share(10e3) - 0.8).abs() < 1e-9);
        assert!(1.0 - cdf("data-mining").share(35e6) < 0.05);
    }

    #[test]
    fn drawn_sizes_follow_every_table() {
        for table in &PUBLISHED {
            for convention in Convention::ALL {
                let cdf = table.cdf(convention);
                let mut stream = Stream::new(1, "test of sizes");
                let mut sizes: Vec<u64> = (0..200_000).map(|_| cdf.draw_bytes(&mut stream)).collect();
                sizes.sort_unstable();
                let n = sizes.len() as f64;
                // Kolmogorov-Smirnov, from both sides at each distinct size, for drawn sizes are whole bytes: a size
                // of s stands for everything from s up to s + 1.
                let mut distance: f64 = 0.0;
                let mut up_to = 0;
                for equal in sizes.chunk_by(|a, b| a == b) {
                    let size = equal[0] as f64;
                    let below = if equal[0] == 1 { 0.0 } else { cdf.share(size.next_down()) };
                    distance = distance.max(below - up_to as f64 / n);
                    up_to += equal.len();
                    distance = distance.max(up_to as f64 / n - cdf.share((size + 1.0).next_down()));
                }
                let name = (table.name, convention.name());
                assert!(distance * n.sqrt() < 1.95, "{name:?}: KS {} at the 0.1% level", distance * n.sqrt());
                let mean = sizes.iter().sum::<u64>() as f64 / n;
                let variance = sizes.iter().map(|&s| (s as f64 - mean).powi(2)).sum::<f64>() / n;
                // Rounding down to whole bytes takes up to one byte.
                let error = mean - cdf.mean_bytes();
                assert!(error.abs() < 4.0 * (variance / n).sqrt() + 1.0, "{name:?}: mean {mean}");
            }
        }
    }
}
