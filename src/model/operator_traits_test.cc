#include "model/operator_traits.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/text/json.h"
#include "model/operator_traits_table.h"

namespace opdump::model {
namespace {

TEST(OperatorTraits, TheTableHasTheTraitsOfTheHeaderAndNoOthers) {
  const nlohmann::json traits = parse_json(kOperatorTraits)["traits"];
  std::set<std::string> in_header(std::begin(kTraitNames), std::end(kTraitNames)), in_table;
  for (const auto& [name, trait] : traits.items()) {
    in_table.insert(name);
    EXPECT_FALSE(trait["sentence"].get<std::string>().empty()) << name;
    for (const auto& [key, value] : trait.items())
      EXPECT_TRUE(std::set<std::string>({"sentence", "is", "begins", "contains", "but"}).contains(key))
          << key;
  }
  EXPECT_EQ(in_table, in_header);
}

TEST(OperatorTraits, NamesBeginningsAndParts) {
  EXPECT_TRUE(has_trait("randn", Trait::random));
  EXPECT_TRUE(has_trait("RandomUniform", Trait::random));
  EXPECT_FALSE(has_trait("addmm", Trait::random));
  EXPECT_TRUE(has_trait("_to_copy", Trait::casts));
  EXPECT_FALSE(has_trait("copy_", Trait::casts));
  EXPECT_TRUE(has_trait("compiled_0_1", Trait::region));
  EXPECT_TRUE(has_trait("_foreach_addcdiv_", Trait::divides));
}

TEST(OperatorTraits, CollectivesOfEveryLibraryButNoBroadcastingOfShapes) {
  for (const char* type : {"c10d_allreduce_", "HcclAllReduce", "all_gather_into_tensor", "wait_tensor",
                           "hcom_broadcast", "broadcast_"})
    EXPECT_TRUE(has_trait(type, Trait::collective)) << type;
  for (const char* type : {"BroadcastTo", "broadcast_tensors", "gather", "scatter_add"})
    EXPECT_FALSE(has_trait(type, Trait::collective)) << type;
}

TEST(OperatorTraits, KindsOfSeveralFrameworks) {
  EXPECT_EQ(find_kind("conv2d").name, "conv");
  EXPECT_EQ(find_kind("qlinearconv").name, "conv");
  EXPECT_TRUE(find_kind("transpose").moves);
  EXPECT_TRUE(find_kind("arange").makes);
  EXPECT_TRUE(find_kind("relu").name.empty());
}

}  // namespace
}  // namespace opdump::model
