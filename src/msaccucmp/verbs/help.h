// What the verbs of msaccucmp.py say about themselves, which scripts and people know by heart.
#pragma once

#include <string_view>

namespace opdump::msaccucmp {

inline constexpr std::string_view kMsaccucmpUsage =
    "usage: msaccucmp.py [-h] {compare,convert,overflow,file_compare} ...\n";
inline constexpr std::string_view kMsaccucmpHelp = R"(
[Powered by MindStudio]

positional arguments:
  {compare,convert,overflow,file_compare}
                        commands
    compare             Compare network or single op.
    convert             Convert my dump data to numpy data or bin data.
    overflow            Analyze the information of the overflow operators.
    file_compare        Compare two single .npy file.

options:
  -h, --help            show this help message and exit
)";

inline constexpr std::string_view kCompareUsage =
    R"(usage: msaccucmp.py compare [-h] -m MY_DUMP_PATH -g GOLDEN_DUMP_PATH
                            [-f FUSION_RULE_FILE] [-q QUANT_FUSION_RULE_FILE]
                            [-cf CLOSE_FUSION_RULE_FILE] [-out OUTPUT_PATH]
                            [-c CUSTOM_SCRIPT_PATH] [-a ALGORITHM_OPTIONS]
                            [-alg ALGORITHM] [-map] [-overflow_detection]
                            [-r RANGE] [-s SELECT] [-p {0,1}]
                            [-max MAX_CMP_SIZE] [-advisor] [-v {1,2}]
                            [-op OP_NAME] [-o OUTPUT | -i INPUT]
                            [--ignore_single_op_result] [-n TOPN]
                            [-ml MAX_LINE] [-ffts]
)";

// Here -alg is a list of numbers.
inline constexpr std::string_view kCompareNumbersUsage =
    R"(usage: msaccucmp.py compare [-h] -m MY_DUMP_PATH -g GOLDEN_DUMP_PATH
                            [-f FUSION_RULE_FILE] [-q QUANT_FUSION_RULE_FILE]
                            [-cf CLOSE_FUSION_RULE_FILE] [-out OUTPUT_PATH]
                            [-c CUSTOM_SCRIPT_PATH] [-a ALGORITHM_OPTIONS]
                            [-alg {0,1,2,3,4,5,6,7,8,9} [{0,1,2,3,4,5,6,7,8,9} ...]]
                            [-map] [-overflow_detection] [-r RANGE]
                            [-s SELECT] [-p {0,1}] [-max MAX_CMP_SIZE]
                            [-advisor] [-v {1,2}] [-op OP_NAME]
                            [-o OUTPUT | -i INPUT] [--ignore_single_op_result]
                            [-n TOPN] [-ml MAX_LINE] [-ffts]
)";

inline constexpr std::string_view kCompareHelp = R"help(
[Powered by MindStudio]

options:
  -h, --help            show this help message and exit
  -m MY_DUMP_PATH, --my_dump_path MY_DUMP_PATH
                        <Required> my dump path, the data compared with golden
                        data
  -g GOLDEN_DUMP_PATH, --golden_dump_path GOLDEN_DUMP_PATH
                        <Required> the golden dump path
  -f FUSION_RULE_FILE, --fusion_rule_file FUSION_RULE_FILE
                        <Optional> the fusion rule file path
  -q QUANT_FUSION_RULE_FILE, --quant_fusion_rule_file QUANT_FUSION_RULE_FILE
                        <Optional> the quant fusion rule file path
  -cf CLOSE_FUSION_RULE_FILE, --close_fusion_rule_file CLOSE_FUSION_RULE_FILE
                        <Optional> the rule file path without fusion
  -out OUTPUT_PATH, --output OUTPUT_PATH
                        <Optional> the output path
  -c CUSTOM_SCRIPT_PATH, --custom_script_path CUSTOM_SCRIPT_PATH
                        <Optional> the user-defined script path, including
                        format conversion and algorithm
  -a ALGORITHM_OPTIONS, --algorithm_options ALGORITHM_OPTIONS
                        <Optional> the arguments for each algorithm. The
                        format is "algorithm_name:param_name=param_value". The
                        parameter splits by ",". The algorithm splits by ";".
                        Such as "CosineSimilarity:max=1,min=0;aa:max=1,min=0"
  -alg ALGORITHM, --algorithm ALGORITHM
                        <Optional> the algorithm selection, built-in algorithm
                        where 0=CosineSimilarity, 1=MaxAbsoluteError,
                        2=AccumulatedRelativeError,
                        3=RelativeEuclideanDistance,
                        4=KullbackLeiblerDivergence, 5=StandardDeviation,
                        6=MeanAbsoluteError, 7=RootMeanSquareError,
                        8=MaxRelativeError, 9=MeanRelativeError, The custom
                        algorithm uses the algorithm name. The selection
                        splits by ",", such as
                        "0,MaxAbsoluteError,4,CustomAlg" or "all". The default
                        value is "all"
  -map, --mapping       <Optional> create mappings between my output operators
                        and ground truth one
  -overflow_detection   <Optional> Operator overflow detection, only operators
                        of the fp16 type are supported
  -r RANGE, --range RANGE
                        <Optional> compare network with the range. The format
                        is "start,end,step". `start` means the count starts
                        position, limited to [1, op_count], default 1.`end`
                        means the count ends position, limited to [>=start,
                        op_count] or -1, default -1`step` limited to [1,
                        op_count], default 1. -r command and -s command can
                        not be used at the same time
  -s SELECT, --select SELECT
                        <Optional> compare network with the range. The format
                        is "index_1, index_2,..." Every index should bea
                        number in the fusion operator list -r command and -s
                        command can not be used at the same time
  -p {0,1}, --post_process {0,1}
                        <Optional> whether to extract the compare result, only
                        pytorch is supported.0 indicates the comparison result
                        is not extracted, 1 indicates the comparison result is
                        extracted
  -max MAX_CMP_SIZE, --max_cmp_size MAX_CMP_SIZE
                        <Optional> max size of tensor array to compare
  -advisor              <optional> Enable advisor after compare
  -v {1,2}, --version {1,2}
                        <Optional> the version of the dump file, 1 means the
                        protobuf dump file, 2 means the binary dump file, the
                        default value is 2
  -op OP_NAME, --op_name OP_NAME
                        <Optional> operator name
  -o OUTPUT, --output_tensor OUTPUT
                        <Optional> the index of output, takes effect only when
                        the "-op" exists
  -i INPUT, --input_tensor INPUT
                        <Optional> the index for input, takes effect only when
                        the "-op" exists
  --ignore_single_op_result
                        <Optional> ignore the single operator detail result,
                        takes effect only when the "-op" exists
  -n TOPN, --topn TOPN  <Optional> the TopN for the single operator detail
                        result, takes effect only when the "-op" exists. The
                        value ranges from 1 to 10000. The default value is 20
  -ml MAX_LINE, --max_line MAX_LINE
                        <Optional> the max line count for the single operator
                        detail result, takes effect only when the "-op"
                        exists. The default value is 1000000, and it should
                        range from 10000 to 1000000
  -ffts                 <optional> Enable the comparison between ffts+ and
                        ffts+. Direct comparison is performed without data
                        combination
)help";

inline constexpr std::string_view kConvertUsage =
    R"(usage: msaccucmp.py convert [-h] -d DUMP_PATH [-f FORMAT] [-s SHAPE]
                            [-o OUTPUT | -i INPUT] [-c CUSTOM_SCRIPT_PATH]
                            [-out OUTPUT_PATH] [-v {1,2}]
                            [-t {npy,bin,msnpy,pt}]
)";
inline constexpr std::string_view kConvertHelp = R"~(
[Powered by MindStudio]

options:
  -h, --help            show this help message and exit
  -d DUMP_PATH, --dump_file DUMP_PATH
                        <Required> the dump file path, supports one file, file
                        list(splits by ",") and directory
  -f FORMAT, --format FORMAT
                        <Optional> the format to transfer
  -s SHAPE, --shape SHAPE
                        <Optional> the shape for format transfer, currently
                        only used for FRACTAL_NZ conversion, shape format is
                        ([0-9]+,)+[0-9]+, such as 1,3,224,224
  -o OUTPUT, --output_tensor OUTPUT
                        <Optional> the index for output, takes effect only
                        when the "-f" exists
  -i INPUT, --input_tensor INPUT
                        <Optional> the index for input, takes effect only when
                        the "-f" exists
  -c CUSTOM_SCRIPT_PATH, --custom_script_path CUSTOM_SCRIPT_PATH
                        <Optional> the user-defined script path, including
                        format conversion
  -out OUTPUT_PATH, --output OUTPUT_PATH
                        <Optional> the output path
  -v {1,2}, --version {1,2}
                        <Optional> the version of the dump file, 1 means the
                        protobuf dump file, 2 means the binary dump file, the
                        default value is 2
  -t {npy,bin,msnpy,pt}, --type {npy,bin,msnpy,pt}
                        <Optional> the type of the output file, npy means the
                        output is saved as numpy format, bin means the output
                        is saved as binary format, msnpy means the output is
                        saved as numpy format for MindSpore, the default value
                        is npy
)~";

inline constexpr std::string_view kOverflowUsage =
    R"(usage: msaccucmp.py overflow [-h] -d DUMP_PATH -out OUTPUT_PATH
                             [-n {1,2,3,4,5}]
)";
inline constexpr std::string_view kOverflowHelp = R"~(
[Powered by MindStudio]

options:
  -h, --help            show this help message and exit
  -d DUMP_PATH, --dump_path DUMP_PATH
                        <Required> the dump file path
  -out OUTPUT_PATH, --output OUTPUT_PATH
                        <Optional> the output path
  -n {1,2,3,4,5}, --top_n {1,2,3,4,5}
                        <Optional> the number of overflow ops, first n will be
                        analyzed. the default value is 1
)~";

inline constexpr std::string_view kFileCompareUsage =
    R"(usage: msaccucmp.py file_compare [-h] -m MY_DUMP_PATH -g GOLDEN_DUMP_PATH -out
                                 OUTPUT_PATH
)";
inline constexpr std::string_view kFileCompareHelp = R"~(
[Powered by MindStudio]

options:
  -h, --help            show this help message and exit
  -m MY_DUMP_PATH, --my_dump_path MY_DUMP_PATH
                        <Required> my dump path, the data compared with golden
                        data
  -g GOLDEN_DUMP_PATH, --golden_dump_path GOLDEN_DUMP_PATH
                        <Required> the golden dump path
  -out OUTPUT_PATH, --output OUTPUT_PATH
                        <Required> the output path
)~";

}  // namespace opdump::msaccucmp
