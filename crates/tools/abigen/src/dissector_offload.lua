-- Nothing here is only in one of the versions of Lua that Wireshark has had (5.2 to 5.4).

local offload = Proto("offload", "Message of MPI's queues")
local malformed = ProtoExpert.new("offload.malformed", "Not as long as its header says",
  expert.group.MALFORMED, expert.severity.ERROR)
offload.experts = { malformed }

-- Numbers that stand in a word with others, and what they mean.
local kinds = { [1] = "EAGER", [2] = "REQUEST", [3] = "CLEAR", [4] = "DATA" }
local parts = {
  packet_kind = ProtoField.uint32("offload.packet_kind", "packet_kind", base.DEC, kinds,
    nil, "What it is."),
  target_process = ProtoField.uint32("offload.target_process", "target_process", base.DEC, nil,
    nil, "Process that it is for."),
  source = ProtoField.uint32("offload.source", "source", base.DEC, nil,
    nil, "Node that has sent it."),
  source_process = ProtoField.uint32("offload.source_process", "source_process", base.DEC, nil,
    nil, "Process that has sent it."),
  payload = ProtoField.uint32("offload.payload", "payload", base.DEC, nil,
    nil, "Bytes behind the header."),
  tag = ProtoField.uint32("offload.tag", "tag", base.DEC, nil,
    nil, "Tag (EAGER, REQUEST)."),
  rank = ProtoField.uint32("offload.rank", "rank", base.DEC, nil,
    nil, "Sender's rank in the communicator (EAGER, REQUEST)."),
  context = ProtoField.uint32("offload.context", "context", base.DEC, nil,
    nil, "Context of the communicator (EAGER, REQUEST)."),
}
offload.fields = {}
for _, field in ipairs(structures.packet.fields) do table.insert(offload.fields, field.field) end
for _, field in pairs(parts) do table.insert(offload.fields, field) end

-- Shows the fields of a structure, and returns their values by name.
local function show(structure, buffer, tree)
  local values = {}
  for _, field in ipairs(structure.fields) do
    local range = buffer(field.offset, field.size)
    tree:add_le(field.field, range)
    values[field.name] = range:le_uint()
  end
  return values
end

-- Some bits of a word.
local function bits(word, from, width)
  return math.floor(word / 2 ^ from) % 2 ^ width
end

function offload.dissector(buffer, pinfo, tree)
  local size = structures.packet.size
  local shown = tree:add(offload, buffer())
  pinfo.cols.protocol = "OFFLOAD"
  if buffer:len() < size then
    shown:add_proto_expert_info(malformed)
    return
  end
  local value = show(structures.packet, buffer(0, size), shown)
  local kind, source = bits(value.kind, 0, 8), bits(value.kind, 16, 16)
  local process, payload = bits(value.process, 0, 8), bits(value.process, 8, 24)
  shown:add(parts.packet_kind, buffer(0, 4), kind)
  shown:add(parts.target_process, buffer(0, 4), bits(value.kind, 8, 8))
  shown:add(parts.source, buffer(0, 4), source)
  shown:add(parts.source_process, buffer(28, 4), process)
  shown:add(parts.payload, buffer(28, 4), payload)
  pinfo.cols.src = "node " .. source
  local text = kinds[kind] or "unknown"
  text = text .. string.format(", serial %d, %d bytes", value.serial, value.length)
  if kind == 1 or kind == 2 then
    -- Match bits: 15 of the tag, 15 of the rank, 12 of the context, which are in both words.
    local rank = bits(value.bits_lo, 15, 15)
    local context = bits(value.bits_lo, 30, 2) + 4 * bits(value.bits_hi, 0, 10)
    shown:add(parts.tag, buffer(4, 4), bits(value.bits_lo, 0, 15))
    shown:add(parts.rank, buffer(4, 4), rank)
    shown:add(parts.context, buffer(4, 8), context)
    text = text .. string.format(", rank %d, tag %d", rank, bits(value.bits_lo, 0, 15))
  end
  pinfo.cols.info = text
  if buffer:len() ~= size + payload then
    shown:add_proto_expert_info(malformed)
    return
  end
  if payload > 0 then
    Dissector.get("data"):call(buffer(size, payload):tvb(), pinfo, tree)
  end
end

-- Link type 149 of the file.
DissectorTable.get("wtap_encap"):add(wtap.USER2, offload)
