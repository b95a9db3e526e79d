/* Functions of libibverbs that the card has no use for. Programs and other devices' libraries are linked with
 * them, and those of Debian resolve all that they are linked with when they are loaded. */
#define _GNU_SOURCE
#include "verbs.h"

#include <errno.h>

/* Refused: what returns a pointer returns none, what returns a number an error. */
#define NO_POINTER(name)                                                                           \
    VERBS_EXPORT void *name(void)                                                                  \
    {                                                                                              \
        verbs_refuse(EOPNOTSUPP, #name ": the card has no such thing");                            \
        return NULL;                                                                               \
    }
#define NO_NUMBER(name)                                                                            \
    VERBS_EXPORT int name(void)                                                                    \
    {                                                                                              \
        return verbs_refuse(EOPNOTSUPP, #name ": the card has no such thing");                     \
    }

NO_POINTER(ibv_create_ah)
NO_POINTER(ibv_create_ah_from_wc)
NO_POINTER(ibv_create_srq)
NO_POINTER(ibv_import_device)
NO_POINTER(ibv_import_dm)
NO_POINTER(ibv_import_mr)
NO_POINTER(ibv_import_pd)
NO_POINTER(ibv_qp_to_qp_ex)
NO_POINTER(ibv_reg_dmabuf_mr)

NO_NUMBER(_ibv_query_gid_ex)
NO_NUMBER(_ibv_query_gid_table)
NO_NUMBER(ibv_attach_mcast)
NO_NUMBER(ibv_copy_ah_attr_from_kern)
NO_NUMBER(ibv_copy_path_rec_from_kern)
NO_NUMBER(ibv_copy_path_rec_to_kern)
NO_NUMBER(ibv_copy_qp_attr_from_kern)
NO_NUMBER(ibv_destroy_ah)
NO_NUMBER(ibv_destroy_srq)
NO_NUMBER(ibv_detach_mcast)
NO_NUMBER(ibv_dofork_range)
NO_NUMBER(ibv_dontfork_range)
NO_NUMBER(ibv_get_pkey_index)
NO_NUMBER(ibv_init_ah_from_wc)
NO_NUMBER(ibv_modify_srq)
NO_NUMBER(ibv_query_ece)
NO_NUMBER(ibv_query_qp_data_in_order)
NO_NUMBER(ibv_query_srq)
NO_NUMBER(ibv_rereg_mr)
NO_NUMBER(ibv_resize_cq)
NO_NUMBER(ibv_resolve_eth_l2_from_gid)
NO_NUMBER(ibv_set_ece)
NO_NUMBER(ibv_unimport_dm)
NO_NUMBER(ibv_unimport_mr)
NO_NUMBER(ibv_unimport_pd)

/* What the libraries of other devices use. They say at loading that they are there, and are never asked. */
#define PRIVATE(name)                                                                              \
    VERBS_EXPORT void *name(void)                                                                  \
    {                                                                                              \
        return NULL;                                                                               \
    }

PRIVATE(verbs_register_driver_34)
PRIVATE(__verbs_log)
PRIVATE(_verbs_init_and_alloc_context)
PRIVATE(execute_ioctl)
PRIVATE(ibv_cmd_advise_mr)
PRIVATE(ibv_cmd_alloc_dm)
PRIVATE(ibv_cmd_alloc_mw)
PRIVATE(ibv_cmd_alloc_pd)
PRIVATE(ibv_cmd_attach_mcast)
PRIVATE(ibv_cmd_close_xrcd)
PRIVATE(ibv_cmd_create_ah)
PRIVATE(ibv_cmd_create_counters)
PRIVATE(ibv_cmd_create_cq_ex)
PRIVATE(ibv_cmd_create_flow)
PRIVATE(ibv_cmd_create_flow_action_esp)
PRIVATE(ibv_cmd_create_qp_ex)
PRIVATE(ibv_cmd_create_qp_ex2)
PRIVATE(ibv_cmd_create_rwq_ind_table)
PRIVATE(ibv_cmd_create_srq)
PRIVATE(ibv_cmd_create_srq_ex)
PRIVATE(ibv_cmd_create_wq)
PRIVATE(ibv_cmd_dealloc_mw)
PRIVATE(ibv_cmd_dealloc_pd)
PRIVATE(ibv_cmd_dereg_mr)
PRIVATE(ibv_cmd_destroy_ah)
PRIVATE(ibv_cmd_destroy_counters)
PRIVATE(ibv_cmd_destroy_cq)
PRIVATE(ibv_cmd_destroy_flow)
PRIVATE(ibv_cmd_destroy_flow_action)
PRIVATE(ibv_cmd_destroy_qp)
PRIVATE(ibv_cmd_destroy_rwq_ind_table)
PRIVATE(ibv_cmd_destroy_srq)
PRIVATE(ibv_cmd_destroy_wq)
PRIVATE(ibv_cmd_detach_mcast)
PRIVATE(ibv_cmd_free_dm)
PRIVATE(ibv_cmd_get_context)
PRIVATE(ibv_cmd_modify_cq)
PRIVATE(ibv_cmd_modify_flow_action_esp)
PRIVATE(ibv_cmd_modify_qp)
PRIVATE(ibv_cmd_modify_qp_ex)
PRIVATE(ibv_cmd_modify_srq)
PRIVATE(ibv_cmd_modify_wq)
PRIVATE(ibv_cmd_open_qp)
PRIVATE(ibv_cmd_open_xrcd)
PRIVATE(ibv_cmd_query_context)
PRIVATE(ibv_cmd_query_device_any)
PRIVATE(ibv_cmd_query_mr)
PRIVATE(ibv_cmd_query_port)
PRIVATE(ibv_cmd_query_qp)
PRIVATE(ibv_cmd_query_srq)
PRIVATE(ibv_cmd_read_counters)
PRIVATE(ibv_cmd_reg_dm_mr)
PRIVATE(ibv_cmd_reg_dmabuf_mr)
PRIVATE(ibv_cmd_reg_mr)
PRIVATE(ibv_cmd_rereg_mr)
PRIVATE(ibv_cmd_resize_cq)
PRIVATE(verbs_allow_disassociate_destroy)
PRIVATE(verbs_init_cq)
PRIVATE(verbs_open_device)
PRIVATE(verbs_set_ops)
PRIVATE(verbs_uninit_context)
