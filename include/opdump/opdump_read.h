/* opdump_read.h - read dumps and compare them, in any language. Library: libopdump_read. C++:
 * opdump_read.hpp.
 *
 * The rules of opdump.h hold, with these differences:
 *   - opdump_read_error() returns the text of the last failure of the calling thread.
 *   - Pointers in structs that a function fills in stay valid until the dump or comparison is closed.
 *   - Any thread may read a dump or comparison that no other thread closes meanwhile.
 */
#ifndef OPDUMP_OPDUMP_READ_H
#define OPDUMP_OPDUMP_READ_H

#include <stddef.h>
#include <stdint.h>

#include "opdump/opdump.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opdump_dump opdump_dump;             /* a dump on disk */
typedef struct opdump_elements opdump_elements;     /* the elements of one tensor, mapped or in memory */
typedef struct opdump_comparison opdump_comparison; /* the result of comparing two dumps */

/* No operator: opdump_finding.golden of an operator that only the actual dump has. */
#define OPDUMP_NO_OPERATOR SIZE_MAX

/* The text of the calling thread's last failure; "" if there was none. Valid until its next call. */
OPDUMP_API const char* opdump_read_error(void);

/* One execution of an operator in one step. */
typedef struct opdump_operator {
  uint32_t size;      /* sizeof(opdump_operator) */
  uint32_t rank;      /* of the process */
  int64_t graph;      /* its number */
  int64_t step;       /* its number */
  const char* name;   /* "Default/layer1-Sequential/conv-Conv2d/conv2d-op0" */
  const char* type;   /* "conv2d"; "" if the dump does not say */
  const char* phase;  /* "forward", "backward" or "optimizer"; NULL if the dump does not say */
  const char* source; /* "train.py:31"; NULL if the dump does not say */
  size_t slot_count;  /* inputs by index, then outputs by index */
} opdump_operator;

/* One recorded tensor of one execution. */
typedef struct opdump_slot {
  uint32_t size;  /* sizeof(opdump_slot) */
  uint32_t dtype; /* opdump_dtype of the program's tensor; OPDUMP_DTYPE_UNDEFINED if the dump does not say */
  const char* name;     /* "input.0", "output.1" */
  const char* file;     /* NULL if the dump keeps no elements */
  const char* undumped; /* why there is neither file nor statistics: "view"; NULL otherwise */
  const int64_t* shape; /* rank elements; NULL if the dump does not say */
  uint32_t rank;        /* of the shape */
  uint32_t index;       /* operand index */
  int32_t is_output;
  int32_t reserved;
} opdump_slot;

/* Opens a dump of any supported tool: a directory or one file. The format is recognised. Close it with
 * opdump_dump_close. Errors: OPDUMP_ERROR_NOT_FOUND (no such path, or nothing in it that is recognised),
 * OPDUMP_ERROR_IO. */
OPDUMP_API opdump_status opdump_dump_open(const char* path, opdump_dump** dump);
/* Does nothing for NULL. Elements that were read stay valid. */
OPDUMP_API void opdump_dump_close(opdump_dump* dump);
/* How many executions of operators the dump has: by rank, step, graph, then in order of execution. */
OPDUMP_API size_t opdump_dump_operator_count(const opdump_dump* dump);
/* Errors: OPDUMP_ERROR_ARGUMENT (no operator of this number, a wrong size). */
OPDUMP_API opdump_status opdump_dump_operator(const opdump_dump* dump, size_t index, opdump_operator* op);
/* Slot `slot` of operator `index`. Errors: OPDUMP_ERROR_ARGUMENT. */
OPDUMP_API opdump_status opdump_dump_slot(const opdump_dump* dump, size_t index, size_t slot,
                                          opdump_slot* to);
/* Files that could not be used, as text; NULL for a number beyond the last one. */
OPDUMP_API const char* opdump_dump_problem(const opdump_dump* dump, size_t number);

/* Reads the elements of a slot. Large files are mapped, not copied. `tensor` gets dtype, shape, strides and
 * data, which stay valid until opdump_elements_free. The dtype is that of the elements in memory: FLOAT32 for
 * a bfloat16 tensor in a .npy file. Errors: OPDUMP_ERROR_NOT_FOUND (the dump keeps no elements), _IO,
 * _CORRUPT, _ARGUMENT. */
OPDUMP_API opdump_status opdump_elements_read(const opdump_dump* dump, size_t index, size_t slot,
                                              opdump_elements** elements, opdump_tensor* tensor);
/* Does nothing for NULL. */
OPDUMP_API void opdump_elements_free(opdump_elements* elements);

/* The answer of a comparison; the exit status of `opdump compare` follows it. */
typedef enum opdump_outcome {
  OPDUMP_SAME = 0,
  OPDUMP_DIFFERS = 1,
  OPDUMP_INCOMPLETE = 2,      /* no difference found, but not everything could be compared */
  OPDUMP_NOTHING_COMPARED = 3 /* the dumps share nothing */
} opdump_outcome;

typedef struct opdump_compare_options {
  uint32_t size;    /* sizeof(opdump_compare_options) */
  uint32_t threads; /* 0: all cores */
  /* Not NULL: the tolerance for every dtype, |actual - golden| <= atol + rtol * |golden|. NULL: the table in
   * docs/compare.md. */
  const double* rtol;
  const double* atol;
} opdump_compare_options;

/* The verdict on one operator. */
typedef struct opdump_finding {
  uint32_t size;       /* sizeof(opdump_finding) */
  uint32_t rank;       /* of the process */
  int64_t step;        /* its number */
  const char* name;    /* the operator's */
  const char* verdict; /* "match", "own_error", "inherited", ...; docs/compare.md lists them */
  const char* reason;  /* "cosine 0.981, max abs 0.37"; "" if there is none */
  size_t golden;       /* its number in the golden dump, or OPDUMP_NO_OPERATOR */
  size_t actual;       /* its number in the actual dump, or OPDUMP_NO_OPERATOR */
} opdump_finding;

/* Compares two dumps. `options` may be NULL. Close the result with opdump_comparison_close, before the dumps.
 * What cannot be compared is a verdict, not an error. Errors: OPDUMP_ERROR_ARGUMENT, _IO. */
OPDUMP_API opdump_status opdump_compare(const opdump_dump* golden, const opdump_dump* actual,
                                        const opdump_compare_options* options,
                                        opdump_comparison** comparison);
/* Does nothing for NULL. */
OPDUMP_API void opdump_comparison_close(opdump_comparison* comparison);
OPDUMP_API opdump_outcome opdump_comparison_outcome(const opdump_comparison* comparison);
/* One sentence: "first bad operator: ... ". */
OPDUMP_API const char* opdump_comparison_conclusion(const opdump_comparison* comparison);
/* The number of the finding that the conclusion names, or OPDUMP_NO_OPERATOR. */
OPDUMP_API size_t opdump_comparison_first_bad(const opdump_comparison* comparison);
/* Findings are in the golden dump's order of execution. */
OPDUMP_API size_t opdump_comparison_finding_count(const opdump_comparison* comparison);
/* Errors: OPDUMP_ERROR_ARGUMENT (no finding of this number, a wrong size). */
OPDUMP_API opdump_status opdump_comparison_finding(const opdump_comparison* comparison, size_t index,
                                                   opdump_finding* finding);

#ifdef __cplusplus
}
#endif

#endif /* OPDUMP_OPDUMP_READ_H */
