#include "compare/rules/gains/singles.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "compare/pairs/pairing.h"
#include "dump/operator_log.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {
namespace {

namespace fs = std::filesystem;

// A dump with one output of each operator: "Default/mul-op0", and its largest element.
struct MadeByHand {
  std::string name;
  std::string largest;
  model::Phase phase = model::Phase::forward;
};

class SinglesTest : public testing::Test {
 protected:
  SinglesTest() {
    char name[] = "/tmp/opdump_singles_XXXXXX";
    root_ = mkdtemp(name);
  }
  ~SinglesTest() override { fs::remove_all(root_); }

  dump::DumpSet write(const std::string& side, const std::vector<MadeByHand>& operators) {
    const fs::path step = root_ / side / "rank_0" / "net" / "0" / "0";
    fs::create_directories(step);
    std::ofstream log(root_ / side / "rank_0" / "operators.jsonl"), table(step / "statistic.csv");
    table << "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min "
             "Value,L2Norm Value\n";
    int time = 1;
    for (const MadeByHand& made : operators) {
      model::Operator op;
      op.name = made.name;
      const auto begin = made.name.rfind('/') + 1;
      op.type = made.name.substr(begin, made.name.rfind('-') - begin);
      op.phase = made.phase;
      log << format_log_line(dump::LoggedOperator(op));
      table << op.type << ',' << model::sanitise_name(made.name) << ",0,0," << time++
            << ",output,0,16,float32,\"(4)\"," << made.largest << ",-1,3\n";
    }
    log.close();
    table.close();
    auto dump = dump::DumpSet::open(root_ / side);
    EXPECT_TRUE(dump);
    return std::move(*dump);
  }

  fs::path root_;
};

// The names of operators at places of a pairing.
std::vector<std::string> names_of(const std::vector<std::size_t>& places, const Pairing& pairing,
                                  const dump::DumpSet& golden, const dump::DumpSet& actual) {
  std::vector<std::string> names;
  for (const std::size_t place : places) {
    const OperatorPair& pair = pairing.pairs[place];
    const bool is_golden = pair.golden != OperatorPair::kNone;
    names.push_back(
        (is_golden ? golden : actual).runs().without_slots(is_golden ? pair.golden : pair.actual).type);
  }
  return names;
}

std::vector<std::size_t> singles_of(const Pairing& pairing) {
  std::vector<std::size_t> singles;
  for (std::size_t i = 0; i < pairing.pairs.size(); ++i)
    if (!pairing.pairs[i].is_whole()) singles.push_back(i);
  return singles;
}

TEST_F(SinglesTest, WhatBothRunsComputeLaterGivesThemAway) {
  constexpr model::Phase kOptimizer = model::Phase::optimizer;
  const dump::DumpSet golden = write("golden", {{"Default/mm-op0", "1"}, {"Default/tanh-op0", "2"}});
  const dump::DumpSet actual = write("actual", {{"Default/mm-op0", "1"},
                                                {"Default/sin-op0", "5"},
                                                {"Default/exp_-op0", "6", kOptimizer},
                                                {"Default/tanh-op0", "2"},
                                                {"Default/cos-op0", "7"},
                                                {"Default/add_-op0", "8", kOptimizer},
                                                {"Default/mul-op0", "9", kOptimizer}});
  const Pairing pairing = pair_operators(golden.runs(), actual.runs(), {});
  const auto last = find_last_singles(golden.runs(), actual.runs(), pairing.pairs, singles_of(pairing));
  EXPECT_EQ(names_of(last, pairing, golden, actual), (std::vector<std::string>{"cos", "add_"}));
}

TEST_F(SinglesTest, ResultsAreKnownByTheirStatistics) {
  const dump::DumpSet golden = write("golden", {{"Default/mm-op0", "1"}, {"Default/_foreach_add_-op0", "2"}});
  const dump::DumpSet actual =
      write("actual", {{"Default/mm-op0", "1"}, {"Default/add_-op0", "2.001"}, {"Default/add_-op1", "4"}});
  const Pairing pairing = pair_operators(golden.runs(), actual.runs(), {});
  const auto singles = singles_of(pairing);
  const auto find = [&](double noise, const std::set<std::uint64_t>& uncertain = {}) {
    return names_of(find_lacking(golden.runs(), actual.runs(), pairing.pairs, singles, noise, uncertain),
                    pairing, golden, actual);
  };
  EXPECT_EQ(find(1e-3), (std::vector<std::string>{"add_"}));
  EXPECT_EQ(find(0).size(), 3u) << "they are off by more than the digits that are printed";
  EXPECT_EQ(find(0, {4}).size(), 0u) << "of tensors of four elements, nobody knows";
}

}  // namespace
}  // namespace opdump::compare
