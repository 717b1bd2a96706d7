#include "plan/dump_plan.h"

namespace opdump::plan {

const std::vector<StatisticInfo>& statistic_table() {
  static const std::vector<StatisticInfo> table{
      {Statistic::max, "max", "Max Value", true},
      {Statistic::min, "min", "Min Value", true},
      {Statistic::avg, "avg", "Avg Value", true},
      {Statistic::count, "count", "Count", false},
      {Statistic::negative_count, "negative zero count", "Negative Zero Count", false},
      {Statistic::positive_count, "positive zero count", "Positive Zero Count", false},
      {Statistic::nan_count, "nan count", "NaN Count", false},
      {Statistic::negative_inf_count, "negative inf count", "Negative Inf Count", false},
      {Statistic::positive_inf_count, "positive inf count", "Positive Inf Count", false},
      {Statistic::zero_count, "zero count", "Zero Count", false},
      {Statistic::md5, "md5", "MD5", false},
      {Statistic::l2norm, "l2norm", "L2Norm Value", true},
      {Statistic::sha1, "hash", "SHA1", false},             // from here on: newer than MindSpore 2.7.0
      {Statistic::xxh128, "hash:xxh128", "XXH128", false},  // ours
      {Statistic::sha1, "hash:sha1", "SHA1", false},
      {Statistic::md5, "hash:md5", "MD5", false},
  };
  return table;
}

const std::vector<Statistic>& fingerprint_statistics() {
  static const std::vector<Statistic> statistics{Statistic::max,    Statistic::min,       Statistic::avg,
                                                 Statistic::l2norm, Statistic::nan_count, Statistic::xxh128};
  return statistics;
}

}  // namespace opdump::plan
