/* What the parts of the C ABI's test have in common. */
#ifndef FASTGPU_TESTS_C_API_TEST_H
#define FASTGPU_TESTS_C_API_TEST_H

#include <fastgpu_comm.h>

/* Counts and shows what is not true. */
void expect(int is_true, const char* what);
void expect_status(fgc_status status, fgc_status wanted, const char* what);

/* Whether the last sentence has `text` in it. */
int last_error_has(const char* text);

/* Each is called by both ranks of a job of two. */
void check_collectives(fgc_comm* comm);
void check_links(fgc_comm* comm);
void check_requests(fgc_comm* comm);
void check_groups(fgc_comm* comm);
void check_gradients(fgc_comm* comm);
void check_views(fgc_comm* comm);
void check_codec_state(fgc_comm* comm);
void check_gossip(fgc_comm* comm);
void check_multistep(fgc_comm* comm);
void check_bad_steps(fgc_comm* comm);
void check_warning_without_handler(fgc_comm* comm);

/* By a rank alone, too. */
void check_refused_arguments(fgc_comm* comm);
void check_gossip_alone(fgc_comm* comm);
void check_structs(fgc_comm* comm);
void check_no_device(fgc_comm* comm);
void check_order_of_freeing(void);

#endif
