/* A queue pair of one of two nodes, which write to each other. */
#ifndef CONNECT_H
#define CONNECT_H

#include <infiniband/verbs.h>
#include <stdint.h>

/* Makes it ready to send to the node with this LID. An error number, or 0. */
static inline int connect_to(struct ibv_qp *qp, unsigned lid)
{
    struct ibv_qp_attr facts = {.qp_state = IBV_QPS_INIT, .port_num = 1,
                                .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    int error = ibv_modify_qp(qp, &facts, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
                                              IBV_QP_ACCESS_FLAGS);
    facts = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_4096,
                                 .dest_qp_num = 1,
                                 .ah_attr = {.dlid = (uint16_t)lid, .port_num = 1}};
    if (!error)
        error = ibv_modify_qp(qp, &facts, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                              IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
    facts = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS};
    return error ? error : ibv_modify_qp(qp, &facts, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

#endif
