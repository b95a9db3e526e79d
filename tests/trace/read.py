"""Reads a trace with the types that the Perfetto project publishes, and prints its events, one a line.

Columns, with tabs between them: time, kind (begin, end, step, value), number of the track, the track's names
from the process down, name, value, flows, flows that end, annotations (name=value, with blanks between
them). The events are in the order of the file. Anything that a reader would have to guess is an error.
"""

import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

KINDS = {
    TrackEvent.TYPE_SLICE_BEGIN: "begin",
    TrackEvent.TYPE_SLICE_END: "end",
    TrackEvent.TYPE_INSTANT: "step",
    TrackEvent.TYPE_COUNTER: "value",
}
CLEARED, NEEDED = 1, 2


def known(message):
    """No field that the types do not have, here and below."""
    assert len(UnknownFieldSet(message)) == 0, message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for part in value if field.is_repeated else [value]:
                known(part)


def main(file):
    trace = Trace()
    with open(file, "rb") as source:
        trace.ParseFromString(source.read())
    known(trace)
    tracks, names, annotations, begun = {}, {}, {}, set()

    def path(uuid):
        name, parent = tracks[uuid]
        return (path(parent) + "/" if parent else "") + name

    for packet in trace.packet:
        sequence = packet.trusted_packet_sequence_id
        if packet.sequence_flags & CLEARED:
            assert sequence not in begun, "a sequence begins once"
            begun.add(sequence)
        if packet.sequence_flags & NEEDED:
            assert sequence in begun, "state that is needed is there"
        for kind, table in ("event_names", names), ("debug_annotation_names", annotations):
            for entry in getattr(packet.interned_data, kind):
                assert (sequence, entry.iid) not in table, "a number is given once"
                table[sequence, entry.iid] = entry.name
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in tracks, "a track is described once"
            assert not track.parent_uuid or track.parent_uuid in tracks, "parents come first"
            tracks[track.uuid] = (track.name or track.process.process_name, track.parent_uuid)
            if track.description:
                print("#", track.description.encode("unicode_escape").decode())
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        assert packet.HasField("timestamp") and event.track_uuid in tracks
        name = event.name or (names[sequence, event.name_iid] if event.name_iid else "")
        notes = []
        for note in event.debug_annotations:
            value = getattr(note, note.WhichOneof("value"))
            notes.append(f"{annotations[sequence, note.name_iid]}={value}")
        columns = [packet.timestamp, KINDS[event.type], event.track_uuid, path(event.track_uuid), name]
        columns.append(event.counter_value if event.HasField("counter_value") else "")
        columns += [",".join(map(str, flows)) for flows in (event.flow_ids, event.terminating_flow_ids)]
        print(*columns, " ".join(notes), sep="\t")


main(sys.argv[1])
